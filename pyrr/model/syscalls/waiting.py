# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for descriptors (poll, select, epoll), and descriptors made for waiting.

poll writes every revents also when a signal interrupts it, and select, pselect6 and ppoll
write the remaining time whatever the result (fs/select.c: poll_select_finish). A timeout
in read-only memory is not an error: the write is just left out.
"""

from pyrr.model.grammar import Bytes, FdSet, Pollfds, ResultTimes, Syscall, When
from pyrr.model.syscalls._build import BLOCKS, KERNEL_SIGSET, call, fd, inout, inp, out, path, val

_EVENTS = out("events", ResultTimes(cap="maxevents", ctype="struct epoll_event"))
_MAXEVENTS = val("maxevents", "int")
_MASK = inp("sigmask", KERNEL_SIGSET)
_SETSIZE = val("sigsetsize")
_FLAGS = val("flags", "hex")
_SET = FdSet(bits="nfds")
_SETS = (inout("readfds", _SET), inout("writefds", _SET), inout("exceptfds", _SET))
_UFDS = inout("ufds", Pollfds(count="nfds"), When.ALWAYS)

SYSCALLS: tuple[Syscall, ...] = (
    call(7, "poll", _UFDS, val("nfds", "uint"), val("timeout", "int"), does=BLOCKS),
    call(
        271,
        "ppoll",
        _UFDS,
        val("nfds", "uint"),
        inout("tmo_p", "struct timespec", When.IF_WRITABLE),
        _MASK,
        _SETSIZE,
        does=BLOCKS,
    ),
    call(
        23,
        "select",
        val("nfds", "int"),
        *_SETS,
        inout("timeout", "struct timeval", When.IF_WRITABLE),
        does=BLOCKS,
    ),
    call(
        270,
        "pselect6",
        val("nfds", "int"),
        *_SETS,
        inout("timeout", "struct timespec", When.IF_WRITABLE),
        inp("sig", Bytes(count=16, fact="{const sigset_t *; size_t}, select(2)")),
        does=BLOCKS,
    ),
    call(213, "epoll_create", val("size", "int")),
    call(291, "epoll_create1", _FLAGS),
    call(
        233,
        "epoll_ctl",
        fd("epfd"),
        val("op", "int"),
        fd(),
        inp("event", "struct epoll_event"),
    ),
    call(
        232,
        "epoll_wait",
        fd("epfd"),
        _EVENTS,
        _MAXEVENTS,
        val("timeout", "int"),
        does=BLOCKS,
    ),
    call(
        281,
        "epoll_pwait",
        fd("epfd"),
        _EVENTS,
        _MAXEVENTS,
        val("timeout", "int"),
        _MASK,
        _SETSIZE,
        does=BLOCKS,
    ),
    call(
        441,
        "epoll_pwait2",
        fd("epfd"),
        _EVENTS,
        _MAXEVENTS,
        inp("timeout", "struct timespec"),
        _MASK,
        _SETSIZE,
        does=BLOCKS,
    ),
    call(284, "eventfd", val("count")),
    call(290, "eventfd2", val("count"), _FLAGS),
    call(253, "inotify_init"),
    call(294, "inotify_init1", _FLAGS),
    call(254, "inotify_add_watch", fd(), path("pathname"), val("mask", "hex")),
    call(255, "inotify_rm_watch", fd(), val("wd", "int")),
    call(300, "fanotify_init", _FLAGS, val("event_f_flags", "hex")),
    call(
        301,
        "fanotify_mark",
        fd("fanotify_fd"),
        _FLAGS,
        val("mask", "hex"),
        fd("dfd"),
        path("pathname"),
    ),
)
