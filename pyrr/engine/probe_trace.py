# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries what tracing needs: ptrace, seccomp stops, the tracee's memory."""

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyrr.engine import probe_child as raw
from pyrr.engine.probe_types import Need, Outcome, Probe, UntriedError

SYS_GETPPID = 110
SYS_PRCTL = 157
SYS_SECCOMP = 317
SYS_PROCESS_VM_READV = 310
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_RET_TRACE = 0x7FF00000
READ_ONLY = 1

PTRACE_REMEDY = (
    "container: docker run --cap-add SYS_PTRACE (Kubernetes: securityContext.capabilities.add: "
    "[SYS_PTRACE]); host: sysctl kernel.yama.ptrace_scope=1"
)
SECCOMP_REMEDY = "container: docker run --security-opt seccomp=unconfined, under runc (not gVisor)"


@contextmanager
def _traced(body: Callable[[], object] = lambda: None) -> Iterator[int]:
    """A stopped traced child; UntriedError where ptrace itself is forbidden."""
    with ExitStack() as stack:
        try:
            pid = stack.enter_context(raw.traced_child(body))
        except PermissionError as forbidden:
            raise UntriedError("ptrace is forbidden", PTRACE_REMEDY) from forbidden
        yield pid


def _traceme() -> Outcome:
    with raw.traced_child() as pid:
        raw.ptrace(raw.PTRACE_CONT, pid)
        status = raw.wait_status(pid)
    works = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    return Outcome(works=works, detail="a child was traced" if works else f"status {status:#x}")


def _seize() -> Outcome:
    with raw.child(signal.pause) as pid:
        raw.ptrace(raw.PTRACE_SEIZE, pid, 0, raw.PTRACE_O_EXITKILL)
        raw.ptrace(raw.PTRACE_INTERRUPT, pid)
        status = raw.wait_status(pid)
    works = os.WIFSTOPPED(status)
    return Outcome(works=works, detail="a child was seized and interrupted")


def _sysemu() -> Outcome:
    """Under PTRACE_SYSEMU a system call stops at its entry and is not executed."""
    with _traced(os.getppid) as pid:
        raw.ptrace(raw.PTRACE_SYSEMU, pid)
        status = raw.wait_status(pid)
    works = os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP
    return Outcome(works=works, detail="a system call was held back" if works else f"{status:#x}")


def _instruction(code: int, jump_true: int, jump_false: int, operand: int) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, operand)


def _trace_getppid() -> None:
    """Installs a filter that asks the tracer about getppid, then calls getppid."""
    load_number, jump_equal, ret = 0x20, 0x15, 0x06
    program = b"".join(
        (
            _instruction(load_number, 0, 0, 0),
            _instruction(jump_equal, 0, 1, SYS_GETPPID),
            _instruction(ret, 0, 0, SECCOMP_RET_TRACE),
            _instruction(ret, 0, 0, SECCOMP_RET_ALLOW),
        )
    )
    instructions = ctypes.create_string_buffer(program, len(program))
    count = len(program) // 8
    filter_program = struct.pack("=HxxxxxxQ", count, ctypes.addressof(instructions))
    holder = ctypes.create_string_buffer(filter_program, len(filter_program))
    raw.syscall(SYS_PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    raw.syscall(SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, 0, holder)
    raw.syscall(SYS_GETPPID)


def _seccomp_stop() -> Outcome:
    with _traced(_trace_getppid) as pid:
        raw.ptrace(raw.PTRACE_SETOPTIONS, pid, 0, raw.PTRACE_O_TRACESECCOMP)
        raw.ptrace(raw.PTRACE_CONT, pid)
        status = raw.wait_status(pid)
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        return Outcome(works=False, detail=f"no stop: {os.strerror(code) if code else 'ignored'}")
    works = status >> 8 == signal.SIGTRAP | raw.PTRACE_EVENT_SECCOMP << 8
    return Outcome(works=works, detail="a filter stopped the traced call" if works else "no stop")


def _process_vm() -> Outcome:
    source = ctypes.create_string_buffer(b"pyrr", 8)
    target = ctypes.create_string_buffer(8)
    remote = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(source), 8), 16)
    local = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(target), 8), 16)
    with raw.child(signal.pause) as pid:
        count = raw.syscall(SYS_PROCESS_VM_READV, pid, local, 1, remote, 1, 0)
    works = count == 8 and target.value == b"pyrr"
    return Outcome(works=works, detail="8 bytes were read" if works else f"{count} bytes were read")


def _proc_mem() -> Outcome:
    """Through /proc/PID/mem a tracer writes read-only pages too: patches need that."""
    address = raw.map_page(READ_ONLY)
    with _traced() as pid:
        memory = os.open(Path(f"/proc/{pid}/mem"), os.O_RDWR | os.O_CLOEXEC)
        try:
            os.pwrite(memory, b"pyrr", address)
            works = os.pread(memory, 4, address) == b"pyrr"
        finally:
            os.close(memory)
    return Outcome(works=works, detail="a read-only page was written")


def _proc_stat() -> Outcome:
    with raw.child(signal.pause) as pid:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    state = text.rpartition(")")[2].split()[0]
    return Outcome(works=state in {"R", "S"}, detail=f"a child shows state {state}")


PROBES = (
    Probe(
        ability="ptrace (TRACEME)",
        purpose="replay starts its tracees this way",
        need=Need.REQUIRED,
        attempt=_traceme,
        remedy=PTRACE_REMEDY,
    ),
    Probe(
        ability="ptrace (SEIZE)",
        purpose="recording follows a program this way",
        need=Need.REQUIRED,
        attempt=_seize,
        remedy=PTRACE_REMEDY,
    ),
    Probe(
        ability="ptrace (SYSEMU)",
        purpose="replay keeps system calls from being executed with it",
        need=Need.REQUIRED,
        attempt=_sysemu,
        remedy="use a kernel with x86 PTRACE_SYSEMU: Linux >= 2.6.14, not gVisor",
    ),
    Probe(
        ability="seccomp filter with trace stops",
        purpose="recording sees system calls through it",
        need=Need.REQUIRED,
        attempt=_seccomp_stop,
        remedy=SECCOMP_REMEDY,
    ),
    Probe(
        ability="/proc/PID/mem",
        purpose="patches are written through it",
        need=Need.REQUIRED,
        attempt=_proc_mem,
        remedy="mount /proc read-write for this user, without hidepid; " + PTRACE_REMEDY,
    ),
    Probe(
        ability="process_vm_readv",
        purpose="/proc/PID/mem takes its place, more slowly",
        need=Need.OPTIONAL,
        attempt=_process_vm,
        remedy=SECCOMP_REMEDY,
    ),
    Probe(
        ability="/proc/PID/stat",
        purpose="it tells whether a task is blocked",
        need=Need.REQUIRED,
        attempt=_proc_stat,
        remedy="mount /proc without hidepid: mount -o remount,hidepid=0 /proc",
    ),
)
