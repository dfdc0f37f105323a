# SPDX-License-Identifier: GPL-2.0-or-later
"""Clocks, timers and sleeping."""

from pyrr.model.grammar import Syscall, When
from pyrr.model.syscalls._build import BLOCKS, call, fd, inout, inp, out, val

_CLOCK = val("which_clock", "int")
_FLAGS = val("flags", "hex")
_REMAINING = out("rmtp", "struct timespec", When.EINTR)

SYSCALLS: tuple[Syscall, ...] = (
    call(35, "nanosleep", inp("rqtp", "struct timespec"), _REMAINING, does=BLOCKS),
    call(
        230,
        "clock_nanosleep",
        _CLOCK,
        _FLAGS,
        inp("rqtp", "struct timespec"),
        _REMAINING,
        does=BLOCKS,
    ),
    call(36, "getitimer", val("which", "int"), out("value", "struct itimerval")),
    call(
        38,
        "setitimer",
        val("which", "int"),
        inp("value", "struct itimerval"),
        out("ovalue", "struct itimerval"),
    ),
    call(37, "alarm", val("seconds")),
    call(96, "gettimeofday", out("tv", "struct timeval"), out("tz", "struct timezone")),
    call(164, "settimeofday", inp("tv", "struct timeval"), inp("tz", "struct timezone")),
    call(201, "time", out("tloc", "time_t")),
    call(100, "times", out("tbuf", "struct tms")),
    call(159, "adjtimex", inout("txc_p", "struct timex", When.ALWAYS)),
    call(305, "clock_adjtime", _CLOCK, inout("utx", "struct timex", When.ALWAYS)),
    call(227, "clock_settime", _CLOCK, inp("tp", "struct timespec")),
    call(228, "clock_gettime", _CLOCK, out("tp", "struct timespec")),
    call(229, "clock_getres", _CLOCK, out("tp", "struct timespec")),
    call(
        222,
        "timer_create",
        _CLOCK,
        inp("timer_event_spec", "struct sigevent"),
        # The kernel's timer_t is an int. With PR_TIMER_CREATE_RESTORE_IDS it is also read.
        inout("created_timer_id", "int"),
    ),
    call(
        223,
        "timer_settime",
        val("timer_id", "int"),
        _FLAGS,
        inp("new_setting", "struct itimerspec"),
        out("old_setting", "struct itimerspec"),
    ),
    call(224, "timer_gettime", val("timer_id", "int"), out("setting", "struct itimerspec")),
    call(225, "timer_getoverrun", val("timer_id", "int")),
    call(226, "timer_delete", val("timer_id", "int")),
    call(283, "timerfd_create", val("clockid", "int"), _FLAGS),
    call(
        286,
        "timerfd_settime",
        fd("ufd"),
        _FLAGS,
        inp("utmr", "struct itimerspec"),
        out("otmr", "struct itimerspec"),
    ),
    call(287, "timerfd_gettime", fd("ufd"), out("otmr", "struct itimerspec")),
)
