# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces as commands see them: the one that is meant, the listed ones, `latest`."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrr.errors import TraceError
from pyrr.trace import directory
from pyrr.trace.format import EVENTS_FILE, TraceHeader, read_header
from pyrr.trace.reader import Trace

NAMED = "directory or name (default: the latest)"
"""The help text of an optional TRACE argument."""


def find(name: str | None) -> Path:
    """The directory of a trace given by path or name; None: the latest. Raises TraceError."""
    return directory.find_trace(name, directory.trace_home())


def open_trace(name: str | None) -> Trace:
    """The trace given by path or name, its header read. Raises TraceError."""
    return Trace.open(find(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A trace as listings show it. `header` is None where it cannot be read.

    `start` is in seconds since 1970, `duration_ns` reaches to the last write.
    """

    path: Path
    header: TraceHeader | None
    start: float
    duration_ns: int | None


def listed() -> list[Listed]:
    """All traces, oldest first; damaged ones too, so that they can be deleted."""
    return [look_at(path) for path in directory.list_traces(directory.trace_home())]


def look_at(trace: Path) -> Listed:
    """What a listing shows of one trace."""
    try:
        header = read_header(trace)
    except TraceError:
        start = directory.started_at(trace)
        return Listed(path=trace, header=None, start=start, duration_ns=None)
    start_ns = header.start_time_ns
    duration = None
    with contextlib.suppress(OSError):
        duration = max(0, (trace / EVENTS_FILE).stat().st_mtime_ns - start_ns)
    return Listed(path=trace, header=header, start=start_ns / 1e9, duration_ns=duration)


@contextlib.contextmanager
def latest_is(home: Path, trace: Path) -> Iterator[None]:
    """Points `latest` at a trace; if the block raises and left none, back to what it was.

    Set before recording begins, so that a killed pyrr leaves it right. A home that can
    not be written costs only the link.
    """
    before = directory.latest(home)
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        directory.point_latest(home, trace)
    try:
        yield
    except BaseException:
        if not directory.is_trace(trace):
            with contextlib.suppress(OSError):
                directory.point_latest(home, before)
        raise
