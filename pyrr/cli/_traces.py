# SPDX-License-Identifier: GPL-2.0-or-later
"""Where traces are: their home directory, names, and the `latest` link."""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrr.errors import EnvironmentUnsupported, TraceError
from pyrr.trace.format import EVENTS_FILE, HEADER_FILE, TraceHeader, read_header

LATEST = "latest"


def trace_home(environment: Mapping[str, str] = os.environ) -> Path:
    """$PYRR_TRACE_DIR, else $XDG_DATA_HOME/pyrr, else ~/.local/share/pyrr."""
    if chosen := environment.get("PYRR_TRACE_DIR"):
        return Path(chosen).absolute()
    if data_home := environment.get("XDG_DATA_HOME"):
        return Path(data_home).absolute() / "pyrr"
    return Path.home() / ".local/share/pyrr"


def is_trace(directory: Path) -> bool:
    """Whether this looks like a trace: it has the header, or at least the event stream."""
    return (directory / HEADER_FILE).is_file() or (directory / EVENTS_FILE).is_file()


def find_trace(name: str | None, home: Path) -> Path:
    """The directory of a trace given by path or by its name in `home`; None: the latest."""
    if name is None:
        return _latest(home)
    given = Path(name)
    if is_trace(given):
        return given.resolve()
    if given.name == name and is_trace(home / name):
        return (home / name).resolve()
    if given.is_dir():
        raise TraceError(f"{name} is a directory but not a trace", remedy="pyrr ls")
    raise TraceError(f"there is no trace {name} here or in {home}", remedy="pyrr ls")


def _latest(home: Path) -> Path:
    link = home / LATEST
    if is_trace(link):
        return link.resolve()
    if link.is_symlink():
        raise TraceError(f"the latest trace, {link.readlink()}, is gone", remedy="pyrr ls")
    raise TraceError(
        f"there are no traces in {home} yet", remedy="pyrr record PROGRAM ARGUMENTS..."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A trace as listings show it. `header` is None where it cannot be read.

    `start` is in seconds since 1970, `duration_ns` reaches to the last write.
    """

    path: Path
    header: TraceHeader | None
    start: float
    duration_ns: int | None


def list_traces(home: Path) -> list[Listed]:
    """All traces in `home`, oldest first; damaged ones too, so that they can be deleted."""
    if not home.is_dir():
        return []
    found = [path for path in home.iterdir() if not path.is_symlink() and is_trace(path)]
    return sorted((look_at(path) for path in found), key=lambda each: (each.start, each.path.name))


def look_at(trace: Path) -> Listed:
    """What a listing shows of one trace. Raises only if it vanishes meanwhile."""
    try:
        header = read_header(trace)
    except TraceError:
        return Listed(path=trace, header=None, start=trace.stat().st_mtime, duration_ns=None)
    start = header.start_time_ns
    duration = None
    with contextlib.suppress(OSError):
        duration = max(0, (trace / EVENTS_FILE).stat().st_mtime_ns - start)
    return Listed(path=trace, header=header, start=start / 1e9, duration_ns=duration)


def size_of(trace: Path) -> int:
    """Bytes on disk, as `du` counts them; files shared by reflink count in full."""
    total = 0
    for folder, _, names in os.walk(trace):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).lstat().st_blocks * 512
    return total


def make_named(home: Path, program: str) -> Path:
    """Makes an empty directory PROGRAM-N in `home` for a new trace."""
    stem = re.sub(r"[^\w.+-]", "_", Path(program).name).lstrip(".-") or "program"
    try:
        home.mkdir(parents=True, exist_ok=True)
        taken = {path.name for path in home.iterdir()}
        number = 0
        while True:
            name = f"{stem}-{number}"
            number += 1
            if name in taken:
                continue
            with contextlib.suppress(FileExistsError):
                (home / name).mkdir()
                return home / name
    except OSError as failed:
        raise _cannot_write(home, failed) from failed


def make_at(directory: Path) -> Path:
    """Makes the directory that the user asked for; it must be new or empty."""
    try:
        if directory.is_dir() and not any(directory.iterdir()):
            return directory.absolute()
        directory.mkdir(parents=True)
    except FileExistsError:
        remedy = f"rm -r {directory}, or choose another name"
        raise EnvironmentUnsupported(f"{directory} exists already", remedy=remedy) from None
    except OSError as failed:
        raise _cannot_write(directory, failed) from failed
    return directory.absolute()


def _cannot_write(place: Path, failed: OSError) -> EnvironmentUnsupported:
    return EnvironmentUnsupported(
        f"cannot make a trace in {place}: {failed.strerror}",
        remedy="pyrr record -o /some/writable/directory ..., or export PYRR_TRACE_DIR=...",
    )


def _point_latest(home: Path, target: Path | None) -> None:
    link = home / LATEST
    if target is None:
        link.unlink(missing_ok=True)
        return
    where = target.name if target.parent == home else str(target)
    with tempfile.TemporaryDirectory(dir=home, prefix=".latest-") as scratch:
        fresh = Path(scratch) / LATEST
        fresh.symlink_to(where)
        fresh.replace(link)


@contextlib.contextmanager
def latest_is(home: Path, trace: Path) -> Iterator[None]:
    """Points `latest` at a trace; if the block raises, back to what it was.

    Set before recording begins, so that a killed pyrr leaves it right. A home that can
    not be written costs only the link.
    """
    link = home / LATEST
    before = None
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        before = home / link.readlink() if link.is_symlink() else None
        _point_latest(home, trace)
    try:
        yield
    except BaseException:
        if not is_trace(trace):
            with contextlib.suppress(OSError):
                _point_latest(home, before)
        raise
