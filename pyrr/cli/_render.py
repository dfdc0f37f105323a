# SPDX-License-Identifier: GPL-2.0-or-later
"""One line an event, in the manner of strace, and the same as JSON."""

import dataclasses
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, assert_never

from pyrr.cli import _format, _render_args
from pyrr.model import fields
from pyrr.model.events import Event, EventKind, Origin, Registers
from pyrr.model.fields import FieldTag
from pyrr.model.grammar import Syscall

FindSyscall = Callable[[int], Syscall | None]
"""The model's row for a number of the event's architecture."""

PROT_LETTERS = ((1, "r"), (2, "w"), (4, "x"))


def line(event: Event, find: FindSyscall) -> str:
    """`EVENT TASK name(arg=value, ...) = result`, and what else came with it."""
    task = f"{event.task.tid}/{event.task.serial}"
    parts = [f"{event.index:>6} {task:<9} {_what(event, find)}", *_remarks(event)]
    return " ".join(parts)


def _what(event: Event, find: FindSyscall) -> str:
    match event.kind:
        case EventKind.SYSCALL:
            return f"{_call(event, find)} = {_result(event, find)}"
        case EventKind.SYSCALL_BLOCKED:
            return f"{_call(event, find)} <blocked ...>"
        case EventKind.SYSCALL_EXIT:
            return f"<... {_name(event, find)} resumed>{_outputs(event)} = {_result(event, find)}"
        case EventKind.SIGNAL:
            return _signal(event)
        case EventKind.INSTRUCTION:
            return _instruction(event)
        case EventKind.EXIT:
            return _exit(event)
        case EventKind.TRACE_END:
            return "=== end of the recording ==="
        case EventKind.NOTE:
            note = event.field(fields.TextField)
            return f"note: {_format.printable(note.text) if note else ''}"
        case EventKind.PREEMPT:
            return _preempt(event)
        case _:
            assert_never(event.kind)


def _number(event: Event) -> int:
    field = event.field(fields.SyscallField)
    return field.nr if field else _render_args.signed64(event.regs.orig_rax)


def _name(event: Event, find: FindSyscall) -> str:
    call = find(_number(event))
    return call.name if call else f"syscall_{_number(event)}"


def _call(event: Event, find: FindSyscall) -> str:
    call = find(_number(event))
    if call is not None:
        return f"{call.name}({_render_args.render(call, event)})"
    values = ", ".join(hex(value) for value in _render_args.arguments_of(event.regs))
    return f"syscall_{_number(event)}({values})"


def _result(event: Event, find: FindSyscall) -> str:
    field = event.field(fields.SyscallField)
    if field is None:
        return "?"
    pointer = _name(event, find) in {"mmap", "mremap", "brk", "shmat"}
    return _format.result(field.result, pointer=pointer)


def _outputs(event: Event) -> str:
    written = _render_args.written_at(event)
    shown = [f" [{address:#x}]={_format.quoted(data)}" for address, data in written.items()]
    return "".join(shown)


def _signal(event: Event) -> str:
    field = event.field(fields.SignalField)
    if field is None:
        return "--- signal ---"
    place = {
        fields.SignalPlace.AT_EVENT: "",
        fields.SignalPlace.AT_ENTRY: ", before a system call",
        fields.SignalPlace.AT_FAULT: f", raised at {event.regs.rip:#x}",
    }[field.place]
    effect = {
        fields.SignalEffect.HANDLER: "handler called",
        fields.SignalEffect.IGNORED: "ignored",
        fields.SignalEffect.FATAL: "fatal",
        fields.SignalEffect.STOPPED: "stopped",
    }[field.effect]
    return f"--- {_format.signal_name(field.signo)} ({effect}{place}) ---"


def _preempt(event: Event) -> str:
    point = event.field(fields.PointField)
    counted = point is not None and point.method is fields.PointMethod.COUNT
    which = f", hit {event.position.hits}" if counted else ""
    return f"--- preempted at {event.position.site:#x}{which} ---"


def _instruction(event: Event) -> str:
    field = event.field(fields.InstructionField)
    after = event.field(fields.RegsAfterField)
    name = field.instruction.name.lower() if field else "instruction"
    if after is None or field is None:
        return name
    regs = after.regs
    match field.instruction:
        case fields.Instruction.RDTSC | fields.Instruction.RDTSCP:
            return f"{name} = {(regs.rdx & 0xFFFF_FFFF) << 32 | regs.rax & 0xFFFF_FFFF}"
        case fields.Instruction.CPUID:
            asked = f"eax={event.regs.rax & 0xFFFF_FFFF:#x}, ecx={event.regs.rcx & 0xFFFF_FFFF:#x}"
            values = (regs.rax, regs.rbx, regs.rcx, regs.rdx)
            return f"{name}({asked}) = {' '.join(f'{value:#x}' for value in values)}"
        case _:
            return f"{name} = {_changed(event.regs, regs)}"


def _changed(before: Registers, after: Registers) -> str:
    """`register=value` for what an instruction changed, apart from rip and the flags."""
    changes = [
        f"{register.name}={getattr(after, register.name):#x}"
        for register in dataclasses.fields(Registers)
        if register.name not in {"rip", "rflags"}
        and getattr(before, register.name) != getattr(after, register.name)
    ]
    return " ".join(changes) or "the same"


def _exit(event: Event) -> str:
    field = event.field(fields.ExitField)
    if field is None:
        return "+++ ended +++"
    whole = ", its process ended" if field.group_exit else ""
    return f"+++ {_format.wait_status(field.status)}{whole} +++"


def _remarks(event: Event) -> Iterator[str]:
    """What an event changed beside its own result."""
    if event.origin is Origin.POLICY:
        yield "[by pyrr]"
    for field in event.fields:
        match field:
            case fields.MappingField():
                yield f"[map {_span(field.start, field.len)} {_protection(field)}]"
            case fields.UnmapField():
                yield f"[unmap {_span(field.start, field.len)}]"
            case fields.NewTaskField():
                what = "process" if field.group == field.serial else "thread"
                yield f"[new {what} {field.tid}/{field.serial}]"
            case fields.ExecField():
                yield f"[exec {_format.quoted(field.path)}]"
            case fields.FileChangeField(len=0):
                yield f"[mapped file of {field.size} bytes]"
            case fields.FileChangeField():
                what = "bytes" if field.data else "zeros"
                yield f"[mapped file changed at {field.offset}: {field.len} {what}]"
            case fields.EchoField():
                yield f"[{'stdout' if field.stream == 1 else 'stderr'}]"
            case _:
                pass


def _span(start: int, length: int) -> str:
    return f"{start:#x}-{start + length:#x}"


def _protection(field: fields.MappingField) -> str:
    letters = "".join(letter if field.prot & bit else "-" for bit, letter in PROT_LETTERS)
    path = _format.printable(field.path.decode("utf-8", "backslashreplace"))
    return f"{letters} {path}".rstrip()


def as_json(event: Event, find: FindSyscall) -> dict[str, Any]:
    """All that an event holds; bytes as hexadecimal text, enums by name."""
    data: dict[str, Any] = {
        "event": event.index,
        "kind": event.kind.name.lower(),
        "task": {"tid": event.task.tid, "serial": event.task.serial},
        "address_space": event.as_uid,
        "time_ns": event.time_ns,
        "origin": event.origin.name.lower(),
    }
    if event.field(fields.SyscallField):
        data["syscall"] = _name(event, find)
        if event.kind is not EventKind.SYSCALL_EXIT:
            data["arguments"] = _json_arguments(event, find)
    data["registers"] = _plain(event.regs)
    data["outputs"] = [_plain(output) for output in event.outputs]
    data["fields"] = [_json_field(field) for field in event.fields]
    return data


def _json_arguments(event: Event, find: FindSyscall) -> dict[str, int]:
    values = _render_args.arguments_of(event.regs)
    call = find(_number(event))
    if call is None:
        return {f"arg{i}": value for i, value in enumerate(values)}
    known = _render_args.arguments_in_use(call, _render_args.command_of(call, values))
    return {argument.name: value for argument, value in zip(known, values, strict=False)}


def _json_field(field: Any) -> dict[str, Any]:
    known = field.tag in list(FieldTag)
    name = FieldTag(field.tag).name.lower() if known else f"tag_{field.tag}"
    plain = _plain(field)
    plain.pop("tag", None)
    return {"field": name, **plain}


def _plain(value: Any) -> Any:
    """A value that json can write."""
    match value:
        case IntEnum():
            return value.name.lower()
        case bytes():
            return value.hex()
        case tuple() | list():
            return [_plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value):
            members = dataclasses.fields(value)
            return {member.name: _plain(getattr(value, member.name)) for member in members}
        case _:
            return value
