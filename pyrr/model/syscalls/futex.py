# SPDX-License-Identifier: GPL-2.0-or-later
"""Futexes. Their words are shared with other tasks, so they never move to scratch.

The priority-inheritance operations write the word: FUTEX_LOCK_PI sets FUTEX_WAITERS before
it sleeps, and gives itself the lock on waking. The others only compare it, and FUTEX_WAKE_OP
changes the word at uaddr2.
"""

from pyrr.model.grammar import ArgTimes, ByCommand, Bytes, Syscall
from pyrr.model.syscalls._build import (
    BLOCKS,
    addr,
    call,
    cmd,
    how,
    in_place,
    inp,
    val,
)

_FUTEX = how(may_block=True, record="futex")
_WAKES = how(record="futex")
_WORD = in_place("uaddr", "unsigned int")
_WORD2 = in_place("uaddr2", "unsigned int")
_READ = inp("uaddr", "unsigned int")
_READ2 = inp("uaddr2", "unsigned int")
_TIMEOUT = inp("utime", "struct timespec")
_NO_FD = how(refuse=("ENOSYS", "removed in Linux 2.6.26"))

# FUTEX_PRIVATE_FLAG (128) and FUTEX_CLOCK_REALTIME (256) do not select an operation.
_COMMAND_MASK = 0xFFFF_FFFF & ~(128 | 256)

_OPERATIONS = ByCommand(
    arg="op",
    mask=_COMMAND_MASK,
    commands=(
        cmd("FUTEX_WAIT", 0, _READ, _TIMEOUT, does=_FUTEX),
        cmd("FUTEX_WAKE", 1, _READ, does=_WAKES),
        cmd("FUTEX_FD", 2, does=_NO_FD),
        cmd("FUTEX_REQUEUE", 3, _READ, _READ2, does=_WAKES),
        cmd("FUTEX_CMP_REQUEUE", 4, _READ, _READ2, does=_WAKES),
        cmd("FUTEX_WAKE_OP", 5, _READ, _WORD2, does=_WAKES),
        cmd("FUTEX_LOCK_PI", 6, _WORD, _TIMEOUT, does=_FUTEX),
        cmd("FUTEX_UNLOCK_PI", 7, _WORD, does=_WAKES),
        cmd("FUTEX_TRYLOCK_PI", 8, _WORD, does=_FUTEX),
        cmd("FUTEX_WAIT_BITSET", 9, _READ, _TIMEOUT, does=_FUTEX),
        cmd("FUTEX_WAKE_BITSET", 10, _READ, does=_WAKES),
        cmd("FUTEX_WAIT_REQUEUE_PI", 11, _WORD, _TIMEOUT, _WORD2, does=_FUTEX),
        cmd("FUTEX_CMP_REQUEUE_PI", 12, _WORD, _WORD2, does=_WAKES),
        cmd("FUTEX_LOCK_PI2", 13, _WORD, _TIMEOUT, does=_FUTEX),
    ),
    unknown="ENOSYS",
)

# struct futex_waitv is 24 bytes, Linux 5.16: older headers lack it.
_WAITERS = "char[24]"

SYSCALLS: tuple[Syscall, ...] = (
    call(
        202,
        "futex",
        addr("uaddr"),
        val("op", "hex"),
        val("val", "uint"),
        addr("utime"),
        addr("uaddr2"),
        val("val3", "uint"),
        by=_OPERATIONS,
    ),
    call(
        449,
        "futex_waitv",
        inp("waiters", ArgTimes(arg="nr_futexes", ctype=_WAITERS)),
        val("nr_futexes", "uint"),
        val("flags", "hex"),
        inp("timeout", "struct timespec"),
        val("clockid", "int"),
        does=BLOCKS,
    ),
    call(
        454,
        "futex_wake",
        addr("uaddr"),
        val("mask", "hex"),
        val("nr", "int"),
        val("flags", "hex"),
    ),
    call(
        455,
        "futex_wait",
        inp("uaddr", "unsigned int"),
        val("val"),
        val("mask", "hex"),
        val("flags", "hex"),
        inp("timeout", "struct timespec"),
        val("clockid", "int"),
        does=BLOCKS,
    ),
    call(
        456,
        "futex_requeue",
        inp("waiters", Bytes(count=48, fact="struct futex_waitv[2]")),
        val("flags", "hex"),
        val("nr_wake", "int"),
        val("nr_requeue", "int"),
    ),
)
