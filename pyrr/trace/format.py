# SPDX-License-Identifier: GPL-2.0-or-later
"""`trace.json`: what a trace says about its recording and the machine it ran on.

Paths and arguments are strings as os.fsdecode makes them, so every byte of them
survives. docs/TRACE_FORMAT.md describes the file.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrr.errors import SystemFailure, TraceError
from pyrr.trace import _json

FORMAT_VERSION = 1
"""Of the whole trace: trace.json and the streams. Another version is refused."""
HEADER_FILE = "trace.json"
EVENTS_FILE = "events"
DATA_FILE = "data"
STORE_DIRECTORY = "files"
HEADER_MAX = 64 << 20
"""Bytes of trace.json that a reader takes in at most."""

DISK_FULL = "free disk space, or record to another disk: pyrr record -o DIR PROGRAM"
REMEDIES = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: DISK_FULL,
    errno.EFBIG: "raise the limit on file sizes: ulimit -f unlimited",
}
"""What helps where a trace cannot be written."""

RECORD_AGAIN = "record the program again: pyrr record PROGRAM"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuidLeaf:
    """What cpuid answers to eax=leaf, ecx=subleaf."""

    leaf: int
    subleaf: int
    eax: int
    ebx: int
    ecx: int
    edx: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """What a program can find out about a CPU; 0 where unknown.

    `xcr0` are the enabled state components, `xsave_size` the bytes of a full XSAVE area,
    `mxcsr_mask` the valid bits of MXCSR; `leaves` holds the feature leaves of cpuid.
    """

    vendor: str
    family: int
    model: int
    stepping: int = 0
    name: str = ""
    xcr0: int = 0
    xsave_size: int = 0
    mxcsr_mask: int = 0
    leaves: tuple[CpuidLeaf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The machine and its kernel."""

    hostname: str
    kernel: str
    machine: str
    page_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """All of trace.json.

    `program` is the resolved path of argv[0]; `core` the CPU number everything ran on;
    `clock` what names a point inside a slice ("none": nothing does) and `clock_reason` why
    that one; `start_time_ns` CLOCK_REALTIME at the start; `stack_limit` RLIMIT_STACK's soft
    limit in bytes; `stdout_is_stderr` whether both were one open file; `refused_syscalls`
    the names of the system calls that the recorder answered with ENOSYS.
    """

    format_version: int = FORMAT_VERSION
    uuid: str
    pyrr_version: str
    program: str
    argv: tuple[str, ...]
    env: tuple[str, ...]
    cwd: str
    host: HostFacts
    cpu: CpuFacts
    core: int
    clock: str = "none"
    clock_reason: str = ""
    start_time_ns: int
    stack_limit: int
    stdout_is_stderr: bool = False
    refused_syscalls: tuple[str, ...] = ()


def write_header(trace: Path, header: TraceHeader) -> None:
    """Writes trace.json: afterwards there is the whole file, or what was there before.

    Raises SystemFailure where the file cannot be written.
    """
    with reported(f"writing {trace / HEADER_FILE}"):
        handle, name = tempfile.mkstemp(prefix=f".{HEADER_FILE}-", dir=trace)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(_json.encode(header))
            Path(name).replace(trace / HEADER_FILE)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


@contextlib.contextmanager
def reported(doing: str) -> Iterator[None]:
    """Turns an OSError into a SystemFailure that says what was being done."""
    try:
        yield
    except OSError as failed:
        number = failed.errno or 0
        remedy = REMEDIES.get(number)
        raise SystemFailure(f"{doing}: {failed.strerror}", remedy, errno=number) from failed


def read_header(trace: Path) -> TraceHeader:
    """Reads trace.json. Raises TraceError where it is missing, damaged or of another version."""
    path = trace / HEADER_FILE
    try:
        text = _read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_header(trace) from None
    except OSError as failed:
        raise TraceError(f"reading {path}: {failed.strerror}", errno=failed.errno or 0) from failed
    try:
        _check_version(_json.decode(_Version, text).format_version)
        return _json.decode(TraceHeader, text)
    except TraceError as wrong:
        raise TraceError(f"{path}: {wrong.message}", wrong.remedy or RECORD_AGAIN) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """The one member that every version of trace.json has."""

    format_version: int


def _check_version(version: int) -> None:
    if version != FORMAT_VERSION:
        raise TraceError(
            f"trace format version {version}; this pyrr reads version {FORMAT_VERSION}",
            "use the pyrr that recorded it, or " + RECORD_AGAIN,
        )


def _read_regular(path: Path) -> str:
    # O_NONBLOCK: a FIFO in the file's place must not hang.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise TraceError(f"{path} is not a regular file", RECORD_AGAIN)
        data = file.read(HEADER_MAX + 1)
    if len(data) > HEADER_MAX:
        raise TraceError(f"{path} is larger than any header of a trace", RECORD_AGAIN)
    return data.decode("utf-8", "replace")


def _no_header(trace: Path) -> TraceError:
    if not trace.exists():
        return TraceError(f"there is no trace {trace}", "pyrr ls")
    if not trace.is_dir():
        return TraceError(f"{trace} is not a trace: it is not a directory", "pyrr ls")
    return TraceError(f"{trace} is not a trace: it has no {HEADER_FILE}", "pyrr ls")
