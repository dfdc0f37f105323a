# SPDX-License-Identifier: GPL-2.0-or-later
"""System-call arguments as people read them: by name, outputs by content.

A trace holds what the kernel wrote into the tracee, not what the tracee had in memory
before: pointers that the kernel only read are shown as addresses.
"""

import signal
import struct
from collections.abc import Callable, Mapping, Sequence

from pyrr.cli._flags import FLAG_WORDS, names
from pyrr.cli._format import quoted, signal_name
from pyrr.model.events import Event, OutputKind, Registers
from pyrr.model.grammar import Argument, Command, Direction, Syscall

AT_FDCWD = -100
ARGUMENT_REGISTERS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")

Decoder = Callable[[bytes], str]


def arguments_of(regs: Registers) -> tuple[int, ...]:
    """The six argument registers of a system call, unsigned."""
    return tuple(getattr(regs, name) for name in ARGUMENT_REGISTERS)


def signed32(value: int) -> int:
    """The low half of a register as a C int."""
    return (value & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000


def signed64(value: int) -> int:
    """A register as a C long."""
    return (value ^ 1 << 63) - (1 << 63)


def command_of(call: Syscall, values: Sequence[int]) -> Command | None:
    """The command of a multiplexed call (ioctl, fcntl, ...), if the model knows it."""
    by = call.by_command
    if by is None:
        return None
    index = {argument.name: i for i, argument in enumerate(call.arguments)}
    wanted = values[index[by.arg]] & by.mask
    if by.high_arg:
        wanted = (wanted & 0xFFFF) | (values[index[by.high_arg]] & 0xFFFF) << 16
    return next((command for command in by.commands if command.value == wanted), None)


def arguments_in_use(call: Syscall, command: Command | None) -> tuple[Argument, ...]:
    """The row's arguments, those of the command in place of the row's from the first on."""
    if command is None or not command.arguments:
        return call.arguments
    return (*command.arguments, *call.arguments[len(command.arguments) :])


def render(call: Syscall, event: Event) -> str:
    """`name=value, name=value` for a call whose entry registers the event holds."""
    values = arguments_of(event.regs)
    command = command_of(call, values)
    written = written_at(event)
    shown = []
    for argument, value in zip(arguments_in_use(call, command), values, strict=False):
        if command and call.by_command and argument.name == call.by_command.arg:
            text = command.name
        elif word := FLAG_WORDS.get((call.name, argument.name)):
            text = names(word, value)
        else:
            text = one(argument, value, written)
        shown.append(f"{argument.name}={text}")
    return ", ".join(shown)


def written_at(event: Event) -> dict[int, bytes]:
    """What the event wrote, by address; pieces of one long output joined."""
    joined: dict[int, bytes] = {}
    begin = end = 0
    for output in event.outputs:
        if output.kind is not OutputKind.BYTES or output.data is None:
            continue
        if output.addr == end and begin in joined:
            joined[begin] += output.data
        else:
            begin = output.addr
            joined[begin] = output.data
        end = output.addr + output.length
    return joined


def one(argument: Argument, value: int, written: Mapping[int, bytes]) -> str:
    """One argument's value."""
    if argument.direction is Direction.NONE:
        return scalar(argument.format, value)
    if value == 0:
        return "NULL"
    data = written.get(value)
    if data is None:
        return hex(value)
    return content(argument.format, data)


def scalar(form: str, value: int) -> str:
    """A plain value in the manner of the model's format word."""
    match form:
        case "fd":
            number = signed32(value)
            return "AT_FDCWD" if number == AT_FDCWD else str(number)
        case "int" | "pid":
            return str(signed32(value))
        case "uint":
            return str(value & 0xFFFF_FFFF)
        case "hex" | "address":
            return "NULL" if form == "address" and value == 0 else hex(value)
        case "octal":
            return f"0{value:o}" if value else "0"
        case "signal":
            return signal_name(signed32(value)) if value else "0"
        case _:
            return str(signed64(value))


def content(form: str, data: bytes) -> str:
    """Memory that the call wrote: decoded where its C type is known, else quoted."""
    decode = DECODERS.get(form)
    if decode is None:
        return quoted(data)
    try:
        return decode(data)
    except struct.error:
        return quoted(data)


def _numbers(layout: str) -> Decoder:
    packed = struct.Struct(layout)

    def decode(data: bytes) -> str:
        values = packed.unpack_from(data)
        return "[" + ", ".join(str(value) for value in values) + "]"

    return decode


def _struct(layout: str, *names: str) -> Decoder:
    packed = struct.Struct(layout)

    def decode(data: bytes) -> str:
        values = zip(names, packed.unpack_from(data), strict=False)
        return "{" + ", ".join(f"{name}={value}" for name, value in values) + "}"

    return decode


def _stat(data: bytes) -> str:
    """struct stat of <asm/stat.h>: what matters most of it."""
    (mode,) = struct.unpack_from("<I", data, 24)
    (size,) = struct.unpack_from("<q", data, 48)
    return f"{{st_mode=0{mode:o}, st_size={size}, ...}}"


def _text(data: bytes) -> str:
    return quoted(data.partition(b"\0")[0])


def _signals(data: bytes) -> str:
    """A kernel sigset_t: bit N-1 is signal N."""
    (mask,) = struct.unpack_from("<Q", data)
    names = [signal_name(number) for number in range(1, signal.NSIG) if mask >> (number - 1) & 1]
    return "[" + " ".join(names) + "]"


DECODERS: dict[str, Decoder] = {
    "path": _text,
    "string": _text,
    "int": _numbers("<i"),
    "unsigned int": _numbers("<I"),
    "pid_t": _numbers("<i"),
    "socklen_t": _numbers("<I"),
    "long": _numbers("<q"),
    "size_t": _numbers("<Q"),
    "off_t": _numbers("<q"),
    "loff_t": _numbers("<q"),
    "sigset_t": _signals,
    "struct timespec": _struct("<qq", "tv_sec", "tv_nsec"),
    "struct timeval": _struct("<qq", "tv_sec", "tv_usec"),
    "struct timezone": _struct("<ii", "tz_minuteswest", "tz_dsttime"),
    "struct rlimit": _struct("<QQ", "rlim_cur", "rlim_max"),
    "struct rlimit64": _struct("<QQ", "rlim_cur", "rlim_max"),
    "struct winsize": _struct("<HH", "ws_row", "ws_col"),
    "struct stat": _stat,
}
