# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals: dispositions, masks, sending and waiting."""

from pyrr.model.grammar import Arg, Syscall, When
from pyrr.model.syscalls._build import (
    BLOCKS,
    KERNEL_SIGACTION,
    KERNEL_SIGSET,
    call,
    fd,
    how,
    inp,
    out,
    val,
)

_SIG = val("sig", "signal")
_SETSIZE = val("sigsetsize")
_INFO_IN = inp("uinfo", "siginfo_t")

SYSCALLS: tuple[Syscall, ...] = (
    call(
        13,
        "rt_sigaction",
        _SIG,
        inp("act", KERNEL_SIGACTION),
        out("oact", KERNEL_SIGACTION),
        _SETSIZE,
        does=how(record="rt_sigaction"),
    ),
    call(
        14,
        "rt_sigprocmask",
        val("how", "int"),
        inp("nset", Arg(arg="sigsetsize")),
        out("oset", Arg(arg="sigsetsize")),
        _SETSIZE,
        does=how(record="rt_sigprocmask"),
    ),
    call(15, "rt_sigreturn", does=how(handler="rt_sigreturn")),
    call(127, "rt_sigpending", out("uset", Arg(arg="sigsetsize")), _SETSIZE),
    # The kernel clears the rest of siginfo_t's 128 bytes.
    call(
        128,
        "rt_sigtimedwait",
        inp("uthese", KERNEL_SIGSET),
        out("uinfo", "siginfo_t", When.POSITIVE),
        inp("uts", "struct timespec"),
        _SETSIZE,
        does=BLOCKS,
    ),
    call(129, "rt_sigqueueinfo", val("pid", "pid"), _SIG, _INFO_IN),
    call(297, "rt_tgsigqueueinfo", val("tgid", "pid"), val("pid", "pid"), _SIG, _INFO_IN),
    call(
        130,
        "rt_sigsuspend",
        inp("unewset", KERNEL_SIGSET),
        _SETSIZE,
        does=how(may_block=True, record="rt_sigsuspend"),
    ),
    call(
        131,
        "sigaltstack",
        inp("uss", "stack_t"),
        out("uoss", "stack_t"),
        does=how(record="sigaltstack"),
    ),
    call(34, "pause", does=BLOCKS),
    call(62, "kill", val("pid", "pid"), _SIG),
    call(200, "tkill", val("pid", "pid"), _SIG),
    call(234, "tgkill", val("tgid", "pid"), val("pid", "pid"), _SIG),
    call(
        424,
        "pidfd_send_signal",
        fd("pidfd"),
        _SIG,
        inp("info", "siginfo_t"),
        val("flags", "hex"),
    ),
    call(282, "signalfd", fd("ufd"), inp("user_mask", Arg(arg="sizemask")), val("sizemask")),
    call(
        289,
        "signalfd4",
        fd("ufd"),
        inp("user_mask", Arg(arg="sizemask")),
        val("sizemask"),
        val("flags", "hex"),
    ),
    # The kernel puts this number into rax itself to go on with an interrupted sleep, poll
    # or futex wait; arguments and outputs are still those of that call.
    call(219, "restart_syscall", does=how(may_block=True, handler="restart_syscall")),
)
