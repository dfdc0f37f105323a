# SPDX-License-Identifier: GPL-2.0-or-later
"""Forked children on which abilities are tried, and the few raw calls for it.

Only for `pyrr doctor`: recording and replaying make their ptrace calls in C.
Numbers and structures: <linux/ptrace.h>, <linux/seccomp.h>, <sys/user.h>, x86-64.
"""

import ctypes
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PTRACE_TRACEME = 0
PTRACE_CONT = 7
PTRACE_GETREGS = 12
PTRACE_SYSEMU = 31
PTRACE_SETOPTIONS = 0x4200
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
PTRACE_O_EXITKILL = 0x100000
PTRACE_O_TRACESECCOMP = 0x80
PTRACE_EVENT_SECCOMP = 7
WALL = 0x40000000  # __WALL

PATIENCE_SECONDS = 5.0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.syscall.restype = ctypes.c_long
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]


def _fail_with_errno() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def ptrace(request: int, tid: int, addr: int = 0, data: int = 0) -> int:
    """Makes one tracing request; raises OSError."""
    result = _libc.ptrace(request, tid, addr, data)
    if result == -1:
        raise _fail_with_errno()
    return int(result)


def syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """A raw system call; raises OSError."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc.syscall(ctypes.c_long(number), *converted)
    if result == -1:
        raise _fail_with_errno()
    return int(result)


def map_page(protection: int, contents: bytes = b"") -> int:
    """A fresh private page of this process with these contents; its address."""
    page = 4096
    private_anonymous = 0x22
    address = _libc.mmap(None, page, 3, private_anonymous, -1, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise _fail_with_errno()
    ctypes.memmove(address, contents, len(contents))
    if _libc.mprotect(ctypes.c_void_p(address), page, protection) != 0:
        raise _fail_with_errno()
    return int(address)


def wait_status(pid: int) -> int:
    """The next wait status of a child; TimeoutError if none comes (a sandbox's doing)."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        waited, status = os.waitpid(pid, os.WNOHANG | WALL)
        if waited == pid:
            return status
        time.sleep(0.001)
    raise TimeoutError(errno.ETIMEDOUT, "a traced child did not stop in time")


@contextmanager
def child(body: Callable[[], object]) -> Iterator[int]:
    """A forked child that runs `body` and exits with 0, or with errno of its OSError.

    Killed and reaped at the end if it is still there.
    """
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            body()
            code = 0
        except OSError as failed:
            code = failed.errno or 255
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        _end(pid)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        while not _is_over(wait_status(pid)):
            pass
    except (ProcessLookupError, ChildProcessError, TimeoutError):
        pass  # reaped already


def _is_over(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)


def _raise_if_over(status: int) -> None:
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        raise OSError(code, os.strerror(code) if code != 255 else "the trial child failed")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise OSError(errno.ECHILD, f"the trial child was killed by {name}")


@contextmanager
def traced_child(body: Callable[[], object] = lambda: None) -> Iterator[int]:
    """A child stopped under PTRACE_TRACEME, about to run `body` when continued."""

    def prepare() -> None:
        ptrace(PTRACE_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        body()

    with child(prepare) as pid:
        _raise_if_over(wait_status(pid))
        yield pid


def outcome_of(body: Callable[[], object]) -> int:
    """The wait status of a child that ran `body`; raises its OSError."""
    with child(body) as pid:
        status = wait_status(pid)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
            _raise_if_over(status)
        return status
