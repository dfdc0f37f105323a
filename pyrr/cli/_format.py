# SPDX-License-Identifier: GPL-2.0-or-later
"""Values as people read them: sizes, times, bytes, system-call results."""

import errno
import os
import signal
import time

# Codes that say how the kernel restarts a call: <linux/errno.h>, never seen by programs.
RESTARTS = {
    512: "ERESTARTSYS",
    513: "ERESTARTNOINTR",
    514: "ERESTARTNOHAND",
    516: "ERESTART_RESTARTBLOCK",
}
ERRNO_MAX = 4095
SHOWN_BYTES = 32


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one digit: `3.4M`."""
    if count < 1024:
        return str(count)
    power = min(4, (count.bit_length() - 1) // 10)
    return f"{count / 1024**power:.1f}{' KMGT'[power]}"


def date(seconds: float) -> str:
    """Local time, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def duration(nanoseconds: int | None) -> str:
    """Seconds with three decimals; `?` where unknown."""
    return "?" if nanoseconds is None else f"{nanoseconds / 1e9:.3f} s"


def signal_name(number: int) -> str:
    """`SIGALRM`; real-time signals as `SIGRTMIN+3`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        offset = number - signal.SIGRTMIN
        return f"SIGRTMIN+{offset}" if 0 < offset <= 31 else f"signal {number}"


def quoted(data: bytes, total: int | None = None) -> str:
    """Bytes as a C string; the first ones and `...` if there are more."""
    shown = data[:SHOWN_BYTES]
    text = "".join(_character(byte) for byte in shown)
    more = len(data) > len(shown) or (total or 0) > len(data)
    return f'"{text}"' + ("..." if more else "")


def _character(byte: int) -> str:
    named = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}
    if byte in named:
        return named[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}"


def result(value: int, *, pointer: bool = False) -> str:
    """The result of a system call: a number, an address, or `-1 ENOENT (...)`."""
    number = -value
    if number in RESTARTS:
        return f"? {RESTARTS[number]} (to be restarted)"
    if 0 < number <= ERRNO_MAX:
        return f"-1 {errno.errorcode.get(number, number)} ({os.strerror(number)})"
    return hex(value & (1 << 64) - 1) if pointer else str(value)


def wait_status(status: int) -> str:
    """How a task ended: `exited with 1`, `killed by SIGSEGV (core dumped)`."""
    if os.WIFSIGNALED(status):
        core = " (core dumped)" if os.WCOREDUMP(status) else ""
        return f"killed by {signal_name(os.WTERMSIG(status))}{core}"
    return f"exited with {os.WEXITSTATUS(status)}"


def exit_column(status: int | None) -> str:
    """The EXIT column of `pyrr ps`: 0, 3, -9 for a signal, `?` where not in the trace."""
    if status is None:
        return "?"
    return str(os.waitstatus_to_exitcode(status))


def printable(text: str) -> str:
    """Text of a trace, safe for a terminal: control characters and stray bytes escaped."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
