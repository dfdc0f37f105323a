# SPDX-License-Identifier: GPL-2.0-or-later
"""Events as lines and as JSON."""

import json
import os

import pytest

from pyrr.cli import _format, _render
from pyrr.model import fields
from pyrr.model.events import Event, EventKind, Origin, Output, OutputKind, Registers, TaskUid
from pyrr.model.grammar import (
    Argument,
    ByCommand,
    Command,
    Direction,
    Fixed,
    FromResult,
    Syscall,
)

TASK = TaskUid(tid=4711, serial=1)
READ = Syscall(
    name="read",
    numbers={"x86_64": 0},
    arguments=(
        Argument(name="fd", format="fd"),
        Argument(name="buf", direction=Direction.OUT, size=FromResult(cap="count"), format="bytes"),
        Argument(name="count"),
    ),
)
OPENAT = Syscall(
    name="openat",
    numbers={"x86_64": 257},
    arguments=(
        Argument(name="dirfd", format="fd"),
        Argument(name="filename", direction=Direction.IN, format="path"),
        Argument(name="flags", format="hex"),
        Argument(name="mode", format="octal"),
    ),
)
CLOCK = Syscall(
    name="clock_gettime",
    numbers={"x86_64": 228},
    arguments=(
        Argument(name="which", format="int"),
        Argument(
            name="tp",
            direction=Direction.OUT,
            size=Fixed(ctype="struct timespec"),
            format="struct timespec",
        ),
    ),
)
IOCTL = Syscall(
    name="ioctl",
    numbers={"x86_64": 16},
    arguments=(
        Argument(name="fd", format="fd"),
        Argument(name="cmd", format="hex"),
        Argument(name="arg", format="hex"),
    ),
    by_command=ByCommand(
        arg="cmd",
        commands=(
            Command(
                name="FIONREAD",
                value=0x541B,
                arguments=(
                    Argument(name="fd", format="fd"),
                    Argument(name="cmd", format="hex"),
                    Argument(name="count", direction=Direction.OUT, format="int"),
                ),
            ),
        ),
    ),
)
TABLE = {0: READ, 16: IOCTL, 228: CLOCK, 257: OPENAT}


def call(nr: int, args: tuple[int, ...], result: int | None, **more: object) -> Event:
    names = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
    values = {name: value & (1 << 64) - 1 for name, value in zip(names, args, strict=False)}
    field = (fields.SyscallField(result=result, nr=nr),) if result is not None else ()
    described = {"kind": EventKind.SYSCALL, "task": TASK, "index": 12, **more}
    extra = described.pop("fields", ())
    return Event(
        regs=Registers(orig_rax=nr, **values),
        fields=(*field, *extra),  # type: ignore[misc]
        **described,  # type: ignore[arg-type]
    )


def wrote(addr: int, data: bytes) -> Output:
    return Output(as_uid=1, kind=OutputKind.BYTES, addr=addr, length=len(data), data=data)


def shown(event: Event) -> str:
    return _render.line(event, TABLE.get).removeprefix("    12 4711/1    ")


def test_call_with_output() -> None:
    event = call(0, (3, 0x7000, 100), 4, outputs=(wrote(0x7000, b"a\n\0\xff"),))
    assert _render.line(event, TABLE.get) == (
        '    12 4711/1    read(fd=3, buf="a\\n\\0\\xff", count=100) = 4'
    )


def test_long_output_is_joined_and_cut() -> None:
    pieces = (wrote(0x7000, b"x" * 20), wrote(0x7014, b"y" * 20))
    assert 'buf="' + "x" * 20 + "y" * 12 + '"...' in shown(
        call(0, (3, 0x7000, 40), 40, outputs=pieces)
    )


def test_failure_names_the_errno() -> None:
    assert shown(call(257, (-100, 0x7FFE0000, 0x80000, 0o644), -2)) == (
        "openat(dirfd=AT_FDCWD, filename=0x7ffe0000, flags=O_RDONLY|O_CLOEXEC, mode=0644)"
        " = -1 ENOENT (No such file or directory)"
    )


def test_struct_is_decoded() -> None:
    data = (5).to_bytes(8, "little") + (6).to_bytes(8, "little")
    event = call(228, (1, 0x9000), 0, outputs=(wrote(0x9000, data),))
    assert shown(event) == "clock_gettime(which=1, tp={tv_sec=5, tv_nsec=6}) = 0"


def test_short_struct_is_quoted() -> None:
    event = call(228, (1, 0x9000), 0, outputs=(wrote(0x9000, b"ab"),))
    assert 'tp="ab"' in shown(event)


def test_command_has_its_name_and_arguments() -> None:
    event = call(16, (0, 0x541B, 0x9000), 0, outputs=(wrote(0x9000, b"\x07\0\0\0"),))
    assert shown(event) == "ioctl(fd=0, cmd=FIONREAD, count=[7]) = 0"
    unknown = call(16, (0, 0x9999, 0), -25)
    assert shown(unknown).startswith("ioctl(fd=0, cmd=0x9999, arg=0x0) = -1 ENOTTY")


def test_unknown_call_degrades_to_numbers() -> None:
    assert shown(call(999, (1, 2, 3, 4, 5, 6), 0)) == (
        "syscall_999(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = 0"
    )


def test_two_halves_of_a_blocked_call() -> None:
    blocked = call(0, (0, 0x7000, 1), None, kind=EventKind.SYSCALL_BLOCKED)
    assert shown(blocked) == "read(fd=0, buf=0x7000, count=1) <blocked ...>"
    resumed = call(0, (), 1, kind=EventKind.SYSCALL_EXIT, outputs=(wrote(0x7000, b"x"),))
    assert shown(resumed) == '<... read resumed> [0x7000]="x" = 1'


def test_restart_is_shown_as_such() -> None:
    assert shown(call(0, (0, 0, 0), -512)).endswith("= ? ERESTARTSYS (to be restarted)")


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            Event(
                kind=EventKind.SIGNAL,
                task=TASK,
                index=12,
                fields=(fields.SignalField(signo=14, place=fields.SignalPlace.AT_ENTRY),),
            ),
            "--- SIGALRM (handler called, before a system call) ---",
        ),
        (
            Event(
                kind=EventKind.SIGNAL,
                task=TASK,
                index=12,
                regs=Registers(rip=0x401000),
                fields=(
                    fields.SignalField(
                        signo=11,
                        place=fields.SignalPlace.AT_FAULT,
                        effect=fields.SignalEffect.FATAL,
                    ),
                ),
            ),
            "--- SIGSEGV (fatal, raised at 0x401000) ---",
        ),
        (
            Event(
                kind=EventKind.INSTRUCTION,
                task=TASK,
                index=12,
                fields=(
                    fields.InstructionField(instruction=fields.Instruction.RDTSC, length=2),
                    fields.RegsAfterField(regs=Registers(rax=5, rdx=1)),
                ),
            ),
            "rdtsc = 4294967301",
        ),
        (
            Event(
                kind=EventKind.INSTRUCTION,
                task=TASK,
                index=12,
                fields=(
                    fields.InstructionField(instruction=fields.Instruction.RDRAND, length=4),
                    fields.RegsAfterField(regs=Registers(rcx=0xABC, rip=4)),
                ),
            ),
            "rdrand = rcx=0xabc",
        ),
        (
            Event(
                kind=EventKind.EXIT,
                task=TASK,
                index=12,
                fields=(fields.ExitField(status=1 << 8, group_exit=1),),
            ),
            "+++ exited with 1, its process ended +++",
        ),
        (
            Event(kind=EventKind.EXIT, task=TASK, index=12, fields=(fields.ExitField(status=11),)),
            "+++ killed by SIGSEGV +++",
        ),
        (
            Event(kind=EventKind.TRACE_END, task=TASK, index=12),
            "=== end of the recording ===",
        ),
        (
            Event(kind=EventKind.NOTE, task=TASK, index=12, fields=(fields.TextField(text="hm"),)),
            "note: hm",
        ),
    ],
)
def test_other_kinds(event: Event, text: str) -> None:
    assert shown(event) == text


def test_remarks() -> None:
    mapping = fields.MappingField(start=0x1000, len=0x1000, prot=5, path=b"/lib/x.so")
    event = call(
        0, (3, 0, 0), 0, origin=Origin.POLICY, fields=(mapping, fields.EchoField(stream=2))
    )
    assert shown(event).endswith("= 0 [by pyrr] [map 0x1000-0x2000 r-x /lib/x.so] [stderr]")
    child = fields.NewTaskField(tid=9, serial=2, ns_tid=9, as_uid=2, group=2, parent=1)
    assert shown(call(0, (), 9, fields=(child,))).endswith("[new process 9/2]")


def test_json_can_be_written_for_every_kind_of_field() -> None:
    everything = (
        fields.RegsAfterField(regs=Registers(rax=1)),
        fields.PageHashesField(pages=((4096, 7),)),
        fields.UnknownField(tag=999, data=b"\xff"),
        fields.PatchField(
            addr=1,
            original=b"12345678",
            patched=b"87654321",
            length=2,
            instruction=fields.Instruction.CPUID,
        ),
        fields.ArgvField(argv=(b"a", b"\xff")),
    )
    event = call(0, (3, 0x7000, 8), 1, outputs=(wrote(0x7000, b"\xff"),), fields=everything)
    data = json.loads(json.dumps(_render.as_json(event, TABLE.get)))
    assert data["syscall"] == "read"
    assert data["arguments"] == {"fd": 3, "buf": 0x7000, "count": 8}
    assert data["outputs"][0]["data"] == "ff"
    names = [field["field"] for field in data["fields"]]
    assert names == ["syscall", "regs_after", "page_hashes", "tag_999", "patch", "argv"]


def test_values() -> None:
    assert [_format.size(n) for n in (0, 1023, 1024, 3_500_000, 1 << 50)] == [
        "0",
        "1023",
        "1.0K",
        "3.3M",
        "1024.0T",
    ]
    assert _format.signal_name(40) == "SIGRTMIN+6"
    assert _format.duration(None) == "?"
    assert _format.duration(1_500_000_000) == "1.500 s"
    assert _format.result(-14 & (1 << 64) - 1, pointer=True).startswith("0xff")
    assert _format.exit_column(9) == "-9"
    assert _format.exit_column(None) == "?"
    assert "core dumped" in _format.wait_status(os.WCOREFLAG if hasattr(os, "WCOREFLAG") else 0x86)
