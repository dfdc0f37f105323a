# SPDX-License-Identifier: GPL-2.0-or-later
"""The C codec against the data model, and against a decoder of its own."""

import dataclasses
import errno
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrr.errors import InternalError, SystemFailure, TraceError
from pyrr.model.events import Event, EventKind, Output, OutputKind, TaskUid
from pyrr.model.fields import FieldTag, SyscallField, TextField, UnknownField
from pyrr.native import TraceReader, TraceWriter
from tests.unit.events_strategy import events
from tests.unit.oracle_decoder import decode

TASK = TaskUid(tid=1, serial=1)
END = Event(kind=EventKind.TRACE_END, task=TASK)


@contextmanager
def written(content: list[Event], flush_every: int = 0) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        with TraceWriter(Path(directory)) as writer:
            for count, event in enumerate(content, 1):
                assert writer.append(event) == count
                if flush_every and count % flush_every == 0:
                    writer.flush()
        yield Path(directory)


def plain(event: Event) -> dict[str, Any]:
    """An event as the oracle shows it."""
    position = dataclasses.astuple(event.position)
    return {
        "index": event.index, "kind": event.kind, "arch": event.arch, "origin": event.origin,
        "tid": event.task.tid, "serial": event.task.serial, "as_uid": event.as_uid,
        "time": event.time_ns, "position": position, "regs": dataclasses.astuple(event.regs),
        "outputs": [
            (o.as_uid, o.kind, o.addr, o.length, o.store_offset, o.store_id, o.data)
            for o in event.outputs
        ],
        "fields": [
            (field.tag, field.tag in frozenset(FieldTag), field.pack()) for field in event.fields
        ],
    }  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(content=st.lists(events, max_size=30), flush_every=st.integers(0, 5))
def test_reader_and_oracle_agree(content: list[Event], flush_every: int) -> None:
    content = [dataclasses.replace(event, index=i) for i, event in enumerate(content, 1)]
    with written(content, flush_every) as trace:
        with TraceReader(trace) as reader:
            assert list(reader) == content
        assert decode(trace) == [plain(event) for event in content]


@settings(deadline=None, max_examples=60)
@given(
    content=st.lists(events, min_size=1, max_size=20),
    flush_every=st.integers(1, 5),
    places=st.lists(st.integers(1, 25), max_size=12),
)
def test_seek_in_any_order(content: list[Event], flush_every: int, places: list[int]) -> None:
    with written(content, flush_every) as trace, TraceReader(trace) as reader:
        for place in places:
            reader.seek(place)
            event = reader.next()
            if place > len(content):
                assert event is None
            else:
                assert event == dataclasses.replace(content[place - 1], index=place)


def test_outputs_longer_than_the_limit_are_split(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10000
    hole = Output(as_uid=1, kind=OutputKind.HOLE, addr=0, length=3 << 20)
    output = Output(as_uid=1, kind=OutputKind.BYTES, addr=7, length=len(data), data=data)
    with TraceWriter(tmp_path) as writer:
        writer.append(Event(kind=EventKind.SYSCALL, task=TASK, outputs=(output, hole)))
    with TraceReader(tmp_path) as reader:
        (event,) = reader
    parts = event.outputs
    assert [part.length for part in parts] == [1 << 20, 1 << 20, 462848, *(3 * [1 << 20])]
    assert b"".join(part.data or b"" for part in parts) == data
    assert [part.addr - 7 for part in parts[:3]] == [0, 1 << 20, 2 << 20]
    assert decode(tmp_path) == [plain(event)]


def test_end_reason(tmp_path: Path) -> None:
    with written([END]) as trace, TraceReader(trace) as reader:
        assert [event.kind for event in reader] == [EventKind.TRACE_END]
        assert reader.end_reason is None
    with written([Event(kind=EventKind.NOTE, task=TASK)]) as trace, TraceReader(trace) as reader:
        assert len(list(reader)) == 1
        assert reader.end_reason is not None
        assert "after event 1: 'events' ends at byte" in reader.end_reason


def test_a_required_field_from_the_future_is_refused(tmp_path: Path) -> None:
    fields = (UnknownField(tag=77, data=b"x"),)
    event = Event(kind=EventKind.NOTE, task=TASK, fields=fields)
    with TraceWriter(tmp_path) as writer:
        writer.append(event)
        writer.append(event, required=frozenset({77}))
    with TraceReader(tmp_path) as reader:
        first = reader.next()
        assert first is not None
        assert first.fields == fields
        with pytest.raises(TraceError, match=r"event 2 .* \(tag 77\)"):
            reader.next()


def test_a_malformed_field_is_an_error_only_if_required(tmp_path: Path) -> None:
    short = UnknownField(tag=FieldTag.SYSCALL, data=b"short")
    event = Event(kind=EventKind.NOTE, task=TASK, fields=(short,))
    with TraceWriter(tmp_path) as writer:
        writer.append(event, required=frozenset())
        writer.append(event)
    with TraceReader(tmp_path) as reader:
        assert next(iter(reader)).fields == (short,)
        with pytest.raises(TraceError, match="event 2: a SYSCALL field has 5 bytes"):
            reader.next()


def test_existing_streams_are_not_overwritten(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        writer.append(END)
    with pytest.raises(SystemFailure, match="File exists") as caught:
        TraceWriter(tmp_path)
    assert caught.value.errno == errno.EEXIST
    with TraceReader(tmp_path) as reader:
        assert len(list(reader)) == 1


def test_an_exception_keeps_committed_events(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), TraceWriter(tmp_path) as writer:  # noqa: PT012
        writer.append(Event(kind=EventKind.NOTE, task=TASK, fields=(TextField(text="kept"),)))
        raise ValueError("mine")
    with TraceReader(tmp_path) as reader:
        (event,) = reader
    note = event.field(TextField)
    assert note is not None
    assert note.text == "kept"
    assert event.field(SyscallField) is None
    assert event.fields_of(TextField) == (note,)


def test_output_data_can_be_left_out(tmp_path: Path) -> None:
    output = Output(as_uid=1, kind=OutputKind.BYTES, addr=0, length=2, data=b"hi")
    with TraceWriter(tmp_path) as writer:
        writer.append(Event(kind=EventKind.SYSCALL, task=TASK, outputs=(output,)))
    with TraceReader(tmp_path, with_data=False) as reader:
        (event,) = reader
    assert event.outputs == (dataclasses.replace(output, data=None),)


def test_handles_refuse_other_threads_and_use_after_close(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    caught: list[InternalError] = []

    def use() -> None:
        try:
            writer.flush()
        except InternalError as refused:
            caught.append(refused)

    thread = threading.Thread(target=use, name="other")
    thread.start()
    thread.join()
    assert "belongs to thread 'MainThread' and was used by 'other'" in caught[0].message
    writer.close()
    writer.close()
    with pytest.raises(InternalError, match="a trace writer was used after"):
        writer.flush()


def test_missing_and_foreign_directories(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file") as caught:
        TraceReader(tmp_path / "absent")
    assert caught.value.remedy == "list the traces there are: pyrr ls"
    (tmp_path / "events").write_bytes(b"something else entirely, but long enough")
    with pytest.raises(TraceError, match="is not a stream of a pyrr trace"):
        TraceReader(tmp_path)


def test_another_format_version_is_named(tmp_path: Path) -> None:
    TraceWriter(tmp_path).close()
    data = bytearray((tmp_path / "events").read_bytes())
    data[8] = 9
    (tmp_path / "events").write_bytes(data)
    with pytest.raises(TraceError, match="version 9; this pyrr reads version 1"):
        TraceReader(tmp_path)
