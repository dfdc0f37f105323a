# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace writer and reader of the C core."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pyrr.errors import InternalError, TraceError
from pyrr.model.events import (
    Arch,
    Event,
    EventKind,
    Origin,
    Output,
    OutputKind,
    Position,
    Registers,
    TaskUid,
)
from pyrr.model.fields import AnyTypedField, FieldTag, UnknownField, decode
from pyrr.native._handle import create_in
from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import END, CData, check, error_slot, text

PAGE_SIZE = 4096


def page_hash(page: bytes) -> int:
    """The hash of a page of memory, as PAGE_HASHES fields have it."""
    if len(page) != PAGE_SIZE:
        raise InternalError(f"a page has {PAGE_SIZE} bytes, not {len(page)}")
    return int(lib.prr_page_hash(page))


class TraceWriter:
    """Writes the event and data streams of a trace.

    As a context manager it finishes the trace; after an exception it still writes out
    every committed event, and never hides that exception by one of its own.
    """

    __slots__ = ("_handle",)

    def __init__(self, directory: Path) -> None:
        """Creates the streams in an existing directory that has none.

        Raises SystemFailure where they cannot be created.
        """
        self._handle = create_in(
            "a trace writer",
            directory,
            lib.prr_trace_writer_create,
            lib.prr_trace_writer_destroy,
        )

    @property
    def pointer(self) -> CData:
        """`struct prr_trace_writer *`, for `pyrr.native` only."""
        return self._handle.pointer

    @property
    def last_index(self) -> int:
        """EventIndex of the last committed event, 0 if there is none."""
        return int(lib.prr_trace_writer_last_index(self.pointer))

    def append(self, event: Event, *, required: frozenset[int] = frozenset(FieldTag)) -> int:
        """Commits an event and returns its EventIndex.

        `required` are the tags a reader must know. Raises SystemFailure when the disk is
        full; then every later call fails too, and the trace holds what was written
        before.
        """
        writer = self.pointer
        lib.prr_trace_writer_begin(writer, _head(event))
        index = ffi.new("uint64_t *")
        with error_slot() as error:
            for output in event.outputs:
                _append_output(writer, output, error)
            for field in event.fields:
                data = field.pack()
                mandatory = field.tag in required
                check(
                    lib.prr_trace_writer_field(
                        writer, field.tag, mandatory, data, len(data), error
                    ),
                    error,
                )
            check(lib.prr_trace_writer_commit(writer, index, error), error)
        return int(index[0])

    def flush(self) -> None:
        """Writes out all committed events. Raises SystemFailure."""
        with error_slot() as error:
            check(lib.prr_trace_writer_flush(self.pointer, error), error)

    def finish(self) -> None:
        """Writes out all committed events and closes the files. Raises SystemFailure."""
        with error_slot() as error:
            check(lib.prr_trace_writer_finish(self.pointer, error), error)

    def close(self) -> None:
        """Frees the writer; what was not flushed is lost."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
            else:
                with error_slot() as error:  # as much as can be saved
                    lib.prr_trace_writer_flush(self.pointer, error)
        finally:
            self.close()


def _head(event: Event) -> CData:
    head = ffi.new("struct prr_event *")
    head.kind = event.kind
    head.arch = event.arch
    head.origin = event.origin
    head.task.tid = event.task.tid
    head.task.serial = event.task.serial
    head.as_uid = event.as_uid
    head.time_ns = event.time_ns
    position = event.position
    head.position = (position.waypoint, position.site, position.hits, position.steps)
    ffi.memmove(ffi.addressof(head, "regs"), event.regs.pack(), Registers.LAYOUT.size)
    return head


def _append_output(writer: CData, output: Output, error: CData) -> None:
    if output.kind is OutputKind.BYTES:
        data = output.data
        if data is None or len(data) != output.length:
            raise InternalError(f"an output of {output.length} bytes came without its bytes")
        status = lib.prr_trace_writer_output(
            writer, output.as_uid, output.addr, data, len(data), error
        )
    else:
        reference = ffi.new("struct prr_output *")
        reference.as_uid = output.as_uid
        reference.kind = output.kind
        reference.addr = output.addr
        reference.len = output.length
        reference.store_id = output.store_id
        reference.store_offset = output.store_offset
        status = lib.prr_trace_writer_output_ref(writer, reference, error)
    check(status, error)


class TraceReader:
    """Reads the events of a trace in order, from any EventIndex on.

    Iterating yields the events up to the last complete block; `end_reason` then says
    whether and why that is before the recording's end.
    """

    __slots__ = ("_handle", "_with_data")

    def __init__(self, directory: Path, *, with_data: bool = True) -> None:
        """Opens the streams; `with_data=False` leaves every Output.data None.

        Raises TraceError where they are missing or not of this format version.
        """
        self._with_data = with_data
        self._handle = create_in(
            "a trace reader",
            directory,
            lib.prr_trace_reader_create,
            lib.prr_trace_reader_destroy,
        )

    @property
    def pointer(self) -> CData:
        """`struct prr_trace_reader *`, for `pyrr.native` only."""
        return self._handle.pointer

    @property
    def end_reason(self) -> str | None:
        """Once the end was reached: why the trace ends early; None if it does not."""
        return text(lib.prr_trace_reader_end_reason(self.pointer))

    def seek(self, index: int) -> None:
        """Makes the event `index` (from 1) the next one. Raises TraceError."""
        with error_slot() as error:
            check(lib.prr_trace_reader_seek(self.pointer, index, error), error)

    def next(self) -> Event | None:
        """The next event, None at the end. Raises TraceError."""
        reader = self.pointer
        slot = ffi.new("struct prr_event **")
        with error_slot() as error:
            status = check(lib.prr_trace_reader_next(reader, slot, error), error)
            return None if status == END else self._event(reader, slot[0], error)

    def _event(self, reader: CData, raw: CData, error: CData) -> Event:
        position = raw.position
        regs = bytes(ffi.buffer(ffi.addressof(raw, "regs"), Registers.LAYOUT.size))
        return Event(
            index=raw.index,
            kind=EventKind(raw.kind),
            arch=Arch(raw.arch),
            origin=Origin(raw.origin),
            task=TaskUid(tid=raw.task.tid, serial=raw.task.serial),
            as_uid=raw.as_uid,
            time_ns=raw.time_ns,
            position=Position(
                waypoint=position.waypoint,
                site=position.site,
                hits=position.hits,
                steps=position.steps,
            ),
            regs=Registers.unpack(regs),
            outputs=tuple(self._outputs(reader, raw, error)),
            fields=tuple(_field(raw, i) for i in range(raw.field_count)),
        )

    def _outputs(self, reader: CData, raw: CData, error: CData) -> Iterator[Output]:
        slot = ffi.new("uint8_t **")
        for i in range(raw.output_count):
            output = raw.outputs[i]
            data = None
            if self._with_data and output.kind == OutputKind.BYTES:
                check(lib.prr_trace_reader_output_data(reader, i, slot, error), error)
                data = bytes(ffi.buffer(slot[0], output.len))
            yield Output(
                as_uid=output.as_uid,
                kind=OutputKind(output.kind),
                addr=output.addr,
                length=output.len,
                data=data,
                store_id=output.store_id,
                store_offset=output.store_offset,
            )

    def __iter__(self) -> Iterator[Event]:
        while (event := self.next()) is not None:
            yield event

    def close(self) -> None:
        """Frees the reader and closes its files."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _field(raw: CData, i: int) -> AnyTypedField:
    field = raw.fields[i]
    data = bytes(ffi.buffer(field.data, field.len))
    try:
        return decode(field.tag, data)
    except TraceError as malformed:
        if not field.required:
            return UnknownField(tag=field.tag, data=data)
        raise TraceError(f"event {raw.index}: {malformed.message}") from None
