# SPDX-License-Identifier: GPL-2.0-or-later
"""The syscall model: complete, sound, and the same as what was generated from it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pyrr.model import grammar as g
from pyrr.model.syscalls import BY_NAME, SYSCALLS
from pyrr.model.syscalls._build import cmd, fd, how, out, val
from scripts import gen_tables

UNISTD = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def numbers() -> dict[int, str]:
    return {row.numbers["x86_64"]: row.name for row in SYSCALLS}


def test_generated_files_are_current() -> None:
    stale = [
        str(path)
        for path, text in gen_tables.outputs().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, "regenerate: run scripts/gen_tables.py"


@pytest.mark.skipif(not UNISTD.exists(), reason="no kernel headers for x86-64")
def test_every_number_of_the_headers_has_a_row() -> None:
    text = UNISTD.read_text(encoding="utf-8")
    header = {int(nr): name for name, nr in re.findall(r"#define __NR_(\w+) (\d+)", text)}
    model = numbers()
    assert {nr: model.get(nr) for nr in header} == header


def test_newer_calls_than_the_headers() -> None:
    model = numbers()
    newer = {
        335: "uretprobe",
        451: "cachestat",
        452: "fchmodat2",
        453: "map_shadow_stack",
        454: "futex_wake",
        462: "mseal",
        463: "setxattrat",
        467: "open_tree_attr",
        468: "file_getattr",
        469: "file_setattr",
    }
    assert {nr: model.get(nr) for nr in newer} == newer


# PITFALLS A17 and A12: what would write memory at any time, or stop the recorder.
@pytest.mark.parametrize(
    ("name", "errno"),
    [
        ("io_uring_setup", "ENOSYS"),
        ("io_setup", "ENOSYS"),
        ("io_submit", "EINVAL"),
        ("userfaultfd", "ENOSYS"),
        ("rseq", "ENOSYS"),
        ("memfd_secret", "ENOSYS"),
        ("perf_event_open", "ENOSYS"),
        ("bpf", "EPERM"),
        ("ptrace", "EPERM"),
        ("process_madvise", "EPERM"),
        ("pkey_alloc", "ENOSPC"),
        ("keyctl", "ENOSYS"),
    ],
)
def test_refused_by_name(name: str, errno: str) -> None:
    refused = BY_NAME[name].behaviour.refused
    assert refused is not None
    assert refused.errno == errno


# A call that sleeps until another task acts, and is not marked, hangs the recording.
BLOCKING = """
    read readv preadv2 write writev pwritev2 sendfile splice tee vmsplice open openat openat2
    creat close dup2 dup3 flock poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2
    accept accept4 connect sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg wait4 waitid
    nanosleep clock_nanosleep pause rt_sigsuspend rt_sigtimedwait msgsnd msgrcv semop
    semtimedop mq_timedsend mq_timedreceive futex_wait futex_waitv vfork clone clone3
    restart_syscall execve"""


@pytest.mark.parametrize("name", BLOCKING.split())
def test_may_block(name: str) -> None:
    assert BY_NAME[name].behaviour.may_block


@pytest.mark.parametrize(
    ("call", "command"),
    [
        ("fcntl", "F_SETLKW"),
        ("fcntl", "F_OFD_SETLKW"),
        ("futex", "FUTEX_WAIT"),
        ("futex", "FUTEX_WAIT_BITSET"),
        ("futex", "FUTEX_LOCK_PI"),
        ("futex", "FUTEX_LOCK_PI2"),
        ("futex", "FUTEX_WAIT_REQUEUE_PI"),
        ("ioctl", "TCSETSW"),
    ],
)
def test_commands_that_may_block(call: str, command: str) -> None:
    by = BY_NAME[call].by_command
    assert by is not None
    assert [one.behaviour.may_block for one in by.commands if one.name == command] == [True]


def test_written_files_are_named() -> None:
    changed = {
        row.name: row.behaviour.changed_fd for row in SYSCALLS if row.behaviour.changes_files
    }
    assert changed["write"] == "fd"
    assert changed["copy_file_range"] == "fd_out"
    assert changed["sendfile"] == "out_fd"
    assert changed["truncate"] == ""
    assert {"writev", "pwritev2", "ftruncate", "fallocate", "splice", "openat"} <= changed.keys()


def test_futex_words_never_move() -> None:
    by = BY_NAME["futex"].by_command
    assert by is not None
    for command in by.commands:
        for argument in command.arguments:
            assert argument.direction in (g.Direction.IN, g.Direction.IN_PLACE), command.name


def test_every_refusal_says_why() -> None:
    for how_treated in gen_tables.behaviours():
        if how_treated.refused:
            assert how_treated.refused.reason


ROW = BY_NAME["read"]


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, arguments=(fd(), fd())),
        replace(ROW, arguments=(fd(), out("buf", g.FromResult(cap="nothing")))),
        replace(ROW, arguments=(g.Argument(name="buf", direction=g.Direction.OUT),)),
        replace(ROW, arguments=tuple(val(f"v{n}") for n in range(7))),
        replace(ROW, behaviour=how(changed_fd="nothing")),
        replace(ROW, behaviour=how(refuse=("ENOTHING", "no such errno"))),
        replace(ROW, by_command=g.ByCommand(arg="nothing", commands=())),
        replace(ROW, by_command=g.ByCommand(arg="fd", commands=(cmd("A", 1), cmd("B", 1)))),
        replace(ROW, by_command=g.ByCommand(arg="fd", commands=(cmd("A", 1, fd("no")),))),
        replace(ROW, by_command=g.ByCommand(arg="fd", mask=2, commands=(cmd("A", 1),))),
    ],
)
def test_unsound_rows_are_found(row: g.Syscall) -> None:
    with pytest.raises(gen_tables.ModelError):
        gen_tables.check_row(row)


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, arguments=ROW.arguments[:2]),
        replace(ROW, arguments=(fd(), val("buf"), val("count"))),
        replace(BY_NAME["write"], arguments=ROW.arguments),
    ],
)
def test_prototypes_are_compared(row: g.Syscall) -> None:
    with pytest.raises(gen_tables.ModelError):
        gen_tables.check_prototype(row)


def test_commands_take_the_arguments_they_do_not_name() -> None:
    row = BY_NAME["fcntl"]
    assert row.by_command is not None
    getlk = next(one for one in row.by_command.commands if one.name == "F_GETLK")
    merged = gen_tables.merged(row, getlk)
    assert [argument.name for argument in merged] == ["fd", "cmd", "arg"]
    assert merged[2].direction is g.Direction.INOUT
