# SPDX-License-Identifier: GPL-2.0-or-later
"""fcntl(2). Its command is an int: the upper half of the register is ignored."""

from pyrr.model.grammar import Argument, ByCommand, Bytes, Command, Syscall
from pyrr.model.syscalls._build import BLOCKS, addr, call, cmd, fd, inout, inp, out, val

_LOCK_IN = inp("arg", "struct flock")
_LOCK_INOUT = inout("arg", "struct flock")
_HINT_IN = inp("arg", "uint64_t")
_HINT_OUT = out("arg", "uint64_t")


def _value(name: str, value: int, form: str = "int") -> Command:
    argument: Argument = val("arg", form)
    return cmd(name, value, argument)


_COMMANDS = (
    _value("F_DUPFD", 0, "fd"),
    cmd("F_GETFD", 1),
    _value("F_SETFD", 2),
    cmd("F_GETFL", 3),
    _value("F_SETFL", 4, "hex"),
    cmd("F_GETLK", 5, _LOCK_INOUT),
    cmd("F_SETLK", 6, _LOCK_IN),
    cmd("F_SETLKW", 7, _LOCK_IN, does=BLOCKS),
    _value("F_SETOWN", 8, "pid"),
    cmd("F_GETOWN", 9),
    _value("F_SETSIG", 10, "signal"),
    cmd("F_GETSIG", 11),
    cmd("F_SETOWN_EX", 15, inp("arg", "struct f_owner_ex")),
    cmd("F_GETOWN_EX", 16, out("arg", "struct f_owner_ex")),
    cmd("F_GETOWNER_UIDS", 17, out("arg", Bytes(count=8, fact="uid_t[2], fs/fcntl.c"))),
    cmd("F_OFD_GETLK", 36, _LOCK_INOUT),
    cmd("F_OFD_SETLK", 37, _LOCK_IN),
    cmd("F_OFD_SETLKW", 38, _LOCK_IN, does=BLOCKS),
    _value("F_SETLEASE", 1024),
    cmd("F_GETLEASE", 1025),
    _value("F_NOTIFY", 1026, "hex"),
    _value("F_DUPFD_QUERY", 1027, "fd"),
    cmd("F_CREATED_QUERY", 1028),
    cmd("F_CANCELLK", 1029, _LOCK_IN),
    _value("F_DUPFD_CLOEXEC", 1030, "fd"),
    _value("F_SETPIPE_SZ", 1031),
    cmd("F_GETPIPE_SZ", 1032),
    _value("F_ADD_SEALS", 1033, "hex"),
    cmd("F_GET_SEALS", 1034),
    cmd("F_GET_RW_HINT", 1035, _HINT_OUT),
    cmd("F_SET_RW_HINT", 1036, _HINT_IN),
    cmd("F_GET_FILE_RW_HINT", 1037, _HINT_OUT),
    cmd("F_SET_FILE_RW_HINT", 1038, _HINT_IN),
)

SYSCALLS: tuple[Syscall, ...] = (
    call(
        72,
        "fcntl",
        fd(),
        val("cmd", "int"),
        addr("arg"),
        by=ByCommand(arg="cmd", commands=_COMMANDS),
    ),
)
