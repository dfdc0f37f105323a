# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace writer and reader of the C core.

Recording and replaying pass them on to C as they are. Only who looks at events needs
`_events` and the model behind it, which take a while to import: at the first event.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyrr.errors import InternalError
from pyrr.native._handle import create_in
from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import END, CData, check, error_slot, text

if TYPE_CHECKING:
    from pyrr.model.events import Event

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

    def append(self, event: "Event", *, required: frozenset[int] | None = None) -> int:
        """Commits an event and returns its EventIndex.

        `required` are the tags a reader must know, None: all. Raises SystemFailure when the disk is
        full; then every later call fails too, and the trace holds what was written
        before.
        """
        from pyrr.native import _events  # noqa: PLC0415 (see the module's docstring)

        return _events.append(self.pointer, event, required)

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

    def next(self) -> "Event | None":
        """The next event, None at the end. Raises TraceError."""
        from pyrr.native import _events  # noqa: PLC0415 (see the module's docstring)

        reader = self.pointer
        slot = ffi.new("struct prr_event **")
        with error_slot() as error:
            status = check(lib.prr_trace_reader_next(reader, slot, error), error)
            if status == END:
                return None
            return _events.event(reader, slot[0], error, with_data=self._with_data)

    def __iter__(self) -> "Iterator[Event]":
        while (event := self.next()) is not None:
            yield event

    def close(self) -> None:
        """Frees the reader and closes its files."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
