# SPDX-License-Identifier: GPL-2.0-or-later
"""Where traces are kept: their home directory, names, and the `latest` link."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyrr.errors import EnvironmentUnsupported, TraceError
from pyrr.trace.format import EVENTS_FILE, HEADER_FILE, reported

LATEST = "latest"


def trace_home(environment: Mapping[str, str] = os.environ) -> Path:
    """$PYRR_TRACE_DIR, else $XDG_DATA_HOME/pyrr, else ~/.local/share/pyrr."""
    if chosen := environment.get("PYRR_TRACE_DIR"):
        return Path(chosen).absolute()
    if data_home := environment.get("XDG_DATA_HOME"):
        return Path(data_home).absolute() / "pyrr"
    return Path.home() / ".local/share/pyrr"


def is_trace(directory: Path) -> bool:
    """Whether this looks like a trace: it has a header, or at least an event stream."""
    return (directory / HEADER_FILE).is_file() or (directory / EVENTS_FILE).is_file()


def make_named(home: Path, program: str) -> Path:
    """Makes an empty directory PROGRAM-N for a new trace, N above all that are there.

    Raises SystemFailure where it cannot be made.
    """
    stem = re.sub(r"[^\w.+-]", "_", Path(program).name).lstrip(".-") or "program"
    with _cannot_make(home):
        home.mkdir(parents=True, exist_ok=True)
        number = max((_number(path.name, stem) for path in home.iterdir()), default=-1) + 1
        while True:  # another recording may take a number meanwhile
            with contextlib.suppress(FileExistsError):
                made = home / f"{stem}-{number}"
                made.mkdir(mode=0o700)
                return made
            number += 1


def _number(name: str, stem: str) -> int:
    """N of PROGRAM-N, -1 for other names."""
    found = re.fullmatch(re.escape(stem) + r"-([0-9]{1,9})", name)
    return int(found[1]) if found else -1


def make_at(directory: Path) -> Path:
    """Makes the directory that the user asked for; it must be new or empty.

    Raises EnvironmentUnsupported where it exists or cannot be made.
    """
    with _cannot_make(directory):
        if not directory.is_dir():
            directory.mkdir(mode=0o700, parents=True)
        elif any(directory.iterdir()):
            raise EnvironmentUnsupported(
                f"{directory} exists already and is not empty",
                f"pyrr rm {directory}, or record to another directory",
            )
    return directory.absolute()


@contextlib.contextmanager
def _cannot_make(place: Path) -> Iterator[None]:
    try:
        with reported(f"making a trace in {place}"):
            yield
    except EnvironmentUnsupported as failed:
        failed.remedy = failed.remedy or (
            "pyrr record -o /some/writable/directory ..., or export PYRR_TRACE_DIR=..."
        )
        raise


def latest(home: Path) -> Path | None:
    """What `latest` points to, whether it is there or not; None without such a link."""
    try:
        return home / (home / LATEST).readlink()
    except OSError:
        return None


def point_latest(home: Path, trace: Path | None) -> None:
    """Makes `latest` point to a trace, at once for whoever looks; None removes it.

    Raises OSError.
    """
    link = home / LATEST
    if trace is None:
        link.unlink(missing_ok=True)
        return
    target = trace.name if trace.parent == home else str(trace)
    with tempfile.TemporaryDirectory(dir=home, prefix=".latest-") as scratch:
        fresh = Path(scratch) / LATEST
        fresh.symlink_to(target)
        fresh.replace(link)


def find_trace(name: str | None, home: Path) -> Path:
    """The trace with a name in `home` or a path; None: the latest. Raises TraceError."""
    if name is None:
        return _find_latest(home)
    given = Path(name)
    if is_trace(given):
        return given.resolve()
    if given.name == name and is_trace(home / name):
        return (home / name).resolve()
    if given.is_dir():
        raise TraceError(f"{name} is a directory but not a trace", "pyrr ls")
    raise TraceError(f"there is no trace {name} here or in {home}", "pyrr ls")


def _find_latest(home: Path) -> Path:
    found = latest(home)
    if found is None:
        raise TraceError(f"there are no traces in {home} yet", "pyrr record PROGRAM ARGUMENTS...")
    if not is_trace(found):
        raise TraceError(f"the latest trace, {found}, is gone", "pyrr ls")
    return found.resolve()


def list_traces(home: Path) -> list[Path]:
    """All traces in `home`, oldest first."""
    try:
        paths = [path for path in home.iterdir() if not path.is_symlink() and is_trace(path)]
    except OSError:
        return []
    return sorted(paths, key=lambda path: (started_at(path), path.name))


def started_at(trace: Path) -> float:
    """When the recording began, seconds since 1970, as far as the file system tells."""
    for path in (trace / HEADER_FILE, trace):
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def size_of(trace: Path) -> int:
    """Bytes on disk, as `du` counts them; files shared with others count in full."""
    total = 0
    for folder, _, names in os.walk(trace):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).lstat().st_blocks * 512
    return total


def remove(trace: Path, home: Path) -> None:
    """Deletes a trace, and `latest` where it pointed there.

    The header goes last, so a deletion that was cut short can be repeated. Raises
    TraceError if this is not a trace, SystemFailure where it cannot be deleted.
    """
    if trace.is_symlink() or not is_trace(trace):
        raise TraceError(f"{trace} is not a trace", "pyrr ls")
    with reported(f"deleting {trace}"):
        for path in trace.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != HEADER_FILE:
                path.unlink()
        (trace / HEADER_FILE).unlink(missing_ok=True)
        trace.rmdir()
        link = latest(home)
        if link is not None and not link.exists():
            point_latest(home, None)
