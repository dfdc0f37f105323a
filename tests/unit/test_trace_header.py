# SPDX-License-Identifier: GPL-2.0-or-later
"""trace.json, the checks of its reader, and Trace.open."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrr.errors import SystemFailure, TraceError
from pyrr.model.events import Event, EventKind, TaskUid
from pyrr.native import TraceWriter
from pyrr.trace import _json
from pyrr.trace.cpu import check_same_cpu, cpu_from_cpuinfo
from pyrr.trace.format import (
    HEADER_FILE,
    CpuFacts,
    CpuidLeaf,
    HostFacts,
    TraceHeader,
    read_header,
    write_header,
)
from pyrr.trace.reader import Trace

LEAF = CpuidLeaf(leaf=7, subleaf=0, eax=1, ebx=0b1011, ecx=0, edx=0)
CPU = CpuFacts(
    vendor="GenuineIntel", family=6, model=143, xcr0=0x2E7, xsave_size=2696,
    mxcsr_mask=0xFFFF, leaves=(LEAF,),
)  # fmt: skip
HEADER = TraceHeader(
    uuid="6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    pyrr_version="0.1.0",
    program="/bin/echo",
    argv=("echo", os.fsdecode(b"\xff\xfe"), ""),
    env=("A=b",),
    cwd="/",
    host=HostFacts(hostname="h", kernel="6.1", machine="x86_64", page_size=4096),
    cpu=CPU,
    core=3,
    start_time_ns=2**62,
    stack_limit=2**64 - 1,
    refused_syscalls=("io_uring_setup",),
)


def make_trace(path: Path, header: TraceHeader = HEADER) -> Path:
    path.mkdir(exist_ok=True)
    write_header(path, header)
    with TraceWriter(path) as writer:
        task = TaskUid(tid=1, serial=1)
        for _ in range(5):
            writer.append(Event(kind=EventKind.NOTE, task=task))
        writer.append(Event(kind=EventKind.TRACE_END, task=task))
    return path


def test_round_trip(tmp_path: Path) -> None:
    write_header(tmp_path, HEADER)
    assert read_header(tmp_path) == HEADER
    assert os.fsencode(read_header(tmp_path).argv[1]) == b"\xff\xfe"
    assert [path.name for path in tmp_path.iterdir()] == [HEADER_FILE]


def test_open_gives_header_events_and_stored_files(tmp_path: Path) -> None:
    trace = Trace.open(make_trace(tmp_path), cpu=CPU)
    assert trace.header == HEADER
    assert [event.index for event in trace.events()] == [1, 2, 3, 4, 5, 6]
    assert [event.index for event in trace.events(start=5)] == [5, 6]
    (tmp_path / "files").mkdir()
    (tmp_path / "files/1").write_bytes(b"x")
    (tmp_path / "files/2").symlink_to("/etc/passwd")
    assert trace.stored_file(1).read_bytes() == b"x"
    for absent in (2, 3, 0, -1):
        with pytest.raises(TraceError, match=f"no stored file {absent}"):
            trace.stored_file(absent)


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "is not a trace: it has no trace.json"),
        (lambda path: path.write_text("{"), "trace.json: malformed JSON"),
        (lambda path: path.write_text("[" * 100000), "trace.json: malformed JSON"),
        (lambda path: path.write_text("[]"), "_Version is list instead of an object"),
        (lambda path: path.write_text('{"format_version": 2}'), "version 2; this pyrr reads"),
        (lambda path: path.write_text('{"format_version": true}'), "is bool instead of int"),
        (lambda path: path.write_text('{"format_version": 1}'), "TraceHeader has no 'uuid'"),
        (lambda path: path.write_bytes(b"\xff\0"), "malformed JSON"),
        (make_fifo, "is not a regular file"),
        (make_directory, "trace.json: Is a directory"),
    ],
)
def test_damaged_headers(tmp_path: Path, damage: Any, message: str) -> None:
    trace = make_trace(tmp_path / "t")
    damage(trace / HEADER_FILE)
    with pytest.raises(TraceError) as caught:
        Trace.open(trace)
    assert message in caught.value.message


def test_there_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TraceError, match=r"there is no trace .*absent"):
        Trace.open(tmp_path / "absent")
    with pytest.raises(TraceError, match="not a directory"):
        Trace.open(tmp_path / "file")


def test_streams_must_be_there(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "t")
    (trace / "data").unlink()
    with pytest.raises(TraceError, match="/data': No such file"):
        Trace.open(trace)


def test_an_unwritable_place(tmp_path: Path) -> None:
    with pytest.raises(SystemFailure, match=r"writing .*trace.json: No such file"):
        write_header(tmp_path / "absent", HEADER)


@pytest.mark.parametrize(
    ("member", "value"),
    [("argv", "echo"), ("core", "3"), ("cpu", None), ("host", {}), ("env", [1]), ("core", True)],
)
def test_members_of_another_type(tmp_path: Path, member: str, value: object) -> None:
    write_header(tmp_path, HEADER)
    content = json.loads((tmp_path / HEADER_FILE).read_text(encoding="ascii"))
    content[member] = value
    (tmp_path / HEADER_FILE).write_text(json.dumps(content), encoding="ascii")
    with pytest.raises(TraceError, match=f"TraceHeader.{member}"):
        read_header(tmp_path)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(changes=st.dictionaries(st.sampled_from(sorted(dataclasses.asdict(HEADER))), json_values))
def test_whatever_the_json_holds(changes: dict[str, Any]) -> None:
    content = {**json.loads(_json.encode(HEADER)), **changes}
    try:
        decoded = _json.decode(TraceHeader, json.dumps(content))
    except TraceError:
        return
    assert isinstance(decoded, TraceHeader)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": 85}, "recorded on GenuineIntel family 6 model 143; this is GenuineIntel"),
        ({"vendor": "AuthenticAMD"}, "this is AuthenticAMD family 6"),
        ({"xcr0": 7}, "recorded with xcr0 0x2e7; here it is 0x7"),
        ({"xsave_size": 832}, "recorded with xsave_size"),
        ({"leaves": (dataclasses.replace(LEAF, ebx=1),)}, "ebx bit 1, cpuid(0x7,0).ebx bit 3"),
    ],
)
def test_another_cpu_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    here = dataclasses.replace(CPU, **change)
    with pytest.raises(TraceError) as caught:
        Trace.open(make_trace(tmp_path), cpu=here)
    assert reason in caught.value.message


def test_a_better_cpu_will_do() -> None:
    more = dataclasses.replace(LEAF, ebx=0xFF, eax=2)
    check_same_cpu(CPU, dataclasses.replace(CPU, leaves=(more,), stepping=9, name="X"))
    check_same_cpu(CPU, dataclasses.replace(CPU, leaves=(), xcr0=0))


def test_cpuinfo() -> None:
    text = (
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
        "model name\t: AMD EPYC\nstepping\t: 1\n\nprocessor\t: 1\nmodel\t: 18\n"
    )
    expected = CpuFacts(vendor="AuthenticAMD", family=25, model=17, stepping=1, name="AMD EPYC")
    assert cpu_from_cpuinfo(text) == expected
    assert cpu_from_cpuinfo("") == CpuFacts(vendor="", family=0, model=0)
