# SPDX-License-Identifier: GPL-2.0-or-later
"""Opening a trace: its header, its events, its stored files."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pyrr.errors import TraceError
from pyrr.native import TraceReader
from pyrr.trace.cpu import check_same_cpu
from pyrr.trace.format import STORE_DIRECTORY, CpuFacts, TraceHeader, read_header

if TYPE_CHECKING:  # the model takes a while to import, which most users of a Trace can do without
    from pyrr.model.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A trace whose header has been read and checked."""

    path: Path
    header: TraceHeader

    @classmethod
    def open(cls, path: Path, *, cpu: CpuFacts | None = None) -> Self:
        """Reads the header and sees that the streams can be opened.

        Raises TraceError where the trace is missing, unreadable, damaged, of another
        format version or, if `cpu` says what this machine has, of another CPU.
        """
        header = read_header(path)
        if cpu is not None:
            check_same_cpu(header.cpu, cpu)
        TraceReader(path).close()
        return cls(path=path, header=header)

    def reader(self, *, with_data: bool = True) -> TraceReader:
        """A new reader that stands before the first event; a context manager."""
        return TraceReader(self.path, with_data=with_data)

    def events(self, start: int = 1, *, with_data: bool = True) -> "Iterator[Event]":
        """The events from EventIndex `start` on, to where the trace ends. Raises TraceError."""
        with self.reader(with_data=with_data) as reader:
            reader.seek(start)
            yield from reader

    def stored_file(self, store_id: int) -> Path:
        """The path of a stored file. Raises TraceError if the trace has no such file."""
        path = self.path / STORE_DIRECTORY / str(store_id)
        try:
            regular = store_id > 0 and stat.S_ISREG(os.lstat(path).st_mode)
        except OSError:
            regular = False
        if not regular:
            raise TraceError(f"{self.path} has no stored file {store_id}")
        return path
