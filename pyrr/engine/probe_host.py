# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at the machine, the container and the tools around pyrr."""

import ctypes
import errno
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from pyrr.engine import probe_child as raw
from pyrr.engine.probe_types import Need, Outcome, Probe

SYS_PERSONALITY = 135
SYS_KCMP = 312
SYS_PIDFD_OPEN = 434
SYS_CLONE3 = 435
ADDR_NO_RANDOMIZE = 0x0040000
GDB_MINIMUM = 12
SPACE_MINIMUM = 1 << 30

CONTAINER_MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
CONTAINER_WORDS = {
    "docker": "Docker",
    "kubepods": "Kubernetes",
    "lxc": "LXC",
    "containerd": "containerd",
}
SECCOMP_MODES = {"0": "off", "1": "strict", "2": "filter"}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _own_status(field: str) -> str:
    """One field of /proc/self/status, stripped; empty if it is not there."""
    found = re.search(rf"^{field}:\s*(.*)$", _read("/proc/self/status"), re.MULTILINE)
    return found.group(1).strip() if found else ""


def container() -> str | None:
    """What kind of container this is, or None."""
    for mark, name in CONTAINER_MARKS.items():
        if Path(mark).exists():
            return name
    named = os.environ.get("container")  # noqa: SIM112 (systemd's and podman's spelling)
    named = named or _read("/run/systemd/container").strip()
    if named:
        return named
    groups = _read("/proc/1/cgroup")
    return next((name for word, name in CONTAINER_WORDS.items() if word in groups), None)


def _machine() -> Outcome:
    works = platform.machine() == "x86_64" and platform.system() == "Linux"
    detail = f"{platform.system()} {platform.release()} on {platform.machine()}"
    return Outcome(works=works, detail=detail)


def _surroundings() -> Outcome:
    """A statement of fact, for bug reports: never missing."""
    seccomp = SECCOMP_MODES.get(_own_status("Seccomp"), "unknown")
    return Outcome(works=True, detail=f"container: {container() or 'none'}, seccomp: {seccomp}")


def _untraced() -> Outcome:
    if os.environ.get("PYRR_RUNNING") == "1":
        return Outcome(works=False, detail="this is being recorded by pyrr")
    tracer = _own_status("TracerPid")
    if tracer in {"", "0"}:
        return Outcome(works=True, detail="no debugger or tracer follows pyrr")
    return Outcome(works=False, detail=f"process {tracer} traces pyrr")


def _yama() -> Outcome:
    scope = _read("/proc/sys/kernel/yama/ptrace_scope").strip()
    if not scope:
        return Outcome(works=True, detail="Yama is not there")
    privileged = int(_own_status("CapEff") or "0", 16) >> 19 & 1  # CAP_SYS_PTRACE
    works = scope in {"0", "1"} or (scope == "2" and bool(privileged))
    return Outcome(works=works, detail=f"ptrace_scope is {scope}")


def _affinity() -> Outcome:
    cores = os.sched_getaffinity(0)
    raw.outcome_of(lambda: os.sched_setaffinity(0, {min(cores)}))
    return Outcome(works=True, detail=f"{len(cores)} allowed, a child was bound to one")


def _memfd() -> Outcome:
    os.close(os.memfd_create("pyrr"))
    return Outcome(works=True, detail="an anonymous file was made")


def _personality() -> Outcome:
    raw.outcome_of(lambda: raw.syscall(SYS_PERSONALITY, ADDR_NO_RANDOMIZE))
    return Outcome(works=True, detail="address randomisation can be switched off")


def _kcmp() -> Outcome:
    raw.syscall(SYS_KCMP, os.getpid(), os.getpid(), 1, 0, 0)
    return Outcome(works=True, detail="two tasks were compared")


def _pidfd() -> Outcome:
    os.close(raw.syscall(SYS_PIDFD_OPEN, os.getpid(), 0))
    return Outcome(works=True, detail="a process descriptor was opened")


def _clone3() -> Outcome:
    """An empty clone3 is refused with EINVAL where clone3 itself is allowed."""
    try:
        raw.syscall(SYS_CLONE3, ctypes.create_string_buffer(8), 0)
    except OSError as failed:
        if failed.errno != errno.EINVAL:
            raise
    return Outcome(works=True, detail="allowed")


def _gdb() -> Outcome:
    path = shutil.which("gdb")
    if path is None:
        return Outcome(works=False, detail="not installed")
    shown = subprocess.run(
        [path, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    first = shown.stdout.partition("\n")[0]
    found = re.search(r"(\d+)\.\d+[\w.+-]*\s*$", first)
    works = found is not None and int(found.group(1)) >= GDB_MINIMUM
    return Outcome(works=works, detail=first or f"exit status {shown.returncode}")


def _space(directory: Path) -> Outcome:
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK | os.X_OK):
        return Outcome(works=False, detail=f"{place} is not writable")
    detail = f"{free / (1 << 30):.1f} GiB free for {directory}"
    return Outcome(works=free >= SPACE_MINIMUM, detail=detail)


def space_probe(directory: Path) -> Probe:
    """Whether traces can be written and have room."""
    return Probe(
        ability="room for traces",
        purpose="a recording ends early when the disk is full",
        need=Need.REQUIRED,
        attempt=lambda: _space(directory),
        remedy="free some space, or export PYRR_TRACE_DIR=/some/other/directory",
    )


PROBES = (
    Probe(
        ability="machine",
        purpose="pyrr knows 64-bit x86 Linux only",
        need=Need.REQUIRED,
        attempt=_machine,
        remedy="use a 64-bit x86 Linux machine",
    ),
    Probe(
        ability="surroundings",
        purpose="",
        need=Need.OPTIONAL,
        attempt=_surroundings,
        remedy="",
    ),
    Probe(
        ability="not traced already",
        purpose="a task can have one tracer only",
        need=Need.REQUIRED,
        attempt=_untraced,
        remedy="run pyrr outside the debugger, strace or recording it is in",
    ),
    Probe(
        ability="Yama ptrace_scope",
        purpose="it forbids tracing",
        need=Need.REQUIRED,
        attempt=_yama,
        remedy="sysctl kernel.yama.ptrace_scope=1 (on the host)",
    ),
    Probe(
        ability="core binding",
        purpose="recording runs on one core",
        need=Need.REQUIRED,
        attempt=_affinity,
        remedy="container: docker run --security-opt seccomp=unconfined",
    ),
)

EXTRAS = (
    Probe(
        ability="memfd_create",
        purpose="replay keeps shared memory in it",
        need=Need.REQUIRED,
        attempt=_memfd,
        remedy="use Linux >= 3.17; container: docker run --security-opt seccomp=unconfined",
    ),
    Probe(
        ability="personality",
        purpose="addresses are replayed as recorded anyway",
        need=Need.OPTIONAL,
        attempt=_personality,
        remedy="",
    ),
    Probe(
        ability="kcmp", purpose="pyrr works without", need=Need.OPTIONAL, attempt=_kcmp, remedy=""
    ),
    Probe(
        ability="pidfd", purpose="pyrr works without", need=Need.OPTIONAL, attempt=_pidfd, remedy=""
    ),
    Probe(
        ability="clone3",
        purpose="programs fall back to clone",
        need=Need.OPTIONAL,
        attempt=_clone3,
        remedy="",
    ),
    Probe(
        ability=f"gdb >= {GDB_MINIMUM}",
        purpose="recording and replaying work without it: apt-get install gdb",
        need=Need.OPTIONAL,
        attempt=_gdb,
        remedy="apt-get install gdb",
    ),
)
