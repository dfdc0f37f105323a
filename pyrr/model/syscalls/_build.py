# SPDX-License-Identifier: GPL-2.0-or-later
"""Short constructors, so that a row of the model reads like its man page's prototype."""

from pyrr.model.grammar import (
    Argument,
    Behaviour,
    ByCommand,
    Bytes,
    Command,
    CString,
    Direction,
    Fixed,
    Refusal,
    Size,
    StringArray,
    Syscall,
    When,
)

# struct kernel_sigaction: handler, flags, restorer, mask (asm/signal.h, which can't be
# included beside the C library's signal.h).
KERNEL_SIGACTION = Bytes(count=32, fact="struct sigaction of asm/signal.h")
# A kernel sigset_t on every 64-bit architecture; the calls insist on this size.
KERNEL_SIGSET = Bytes(count=8, fact="sigset_t of asm/signal.h")


def val(name: str, form: str = "long") -> Argument:
    """A plain value."""
    return Argument(name=name, format=form)


def fd(name: str = "fd") -> Argument:
    """A file descriptor."""
    return Argument(name=name, format="fd")


def addr(name: str = "addr") -> Argument:
    """An address through which the kernel reads and writes nothing."""
    return Argument(name=name, format="address")


def path(name: str = "filename") -> Argument:
    """A path."""
    return Argument(name=name, direction=Direction.IN, size=CString(), format="path")


def string(name: str) -> Argument:
    """A string that is not a path."""
    return Argument(name=name, direction=Direction.IN, size=CString(), format="string")


def strings(name: str) -> Argument:
    """An array of strings."""
    return Argument(name=name, direction=Direction.IN, size=StringArray(), format="strings")


def _pointer(name: str, direction: Direction, size: Size | str, when: When) -> Argument:
    if isinstance(size, str):
        size = Fixed(ctype=size)
    form = size.ctype if isinstance(size, Fixed) and size.count == 1 else "bytes"
    return Argument(name=name, direction=direction, size=size, when=when, format=form)


def inp(name: str, size: Size | str) -> Argument:
    """Memory that the kernel only reads."""
    return _pointer(name, Direction.IN, size, When.SUCCESS)


def out(name: str, size: Size | str, when: When = When.SUCCESS) -> Argument:
    """Memory that the kernel only writes."""
    return _pointer(name, Direction.OUT, size, when)


def inout(name: str, size: Size | str, when: When = When.SUCCESS) -> Argument:
    """Memory that the kernel reads and writes."""
    return _pointer(name, Direction.INOUT, size, when)


def in_place(name: str, size: Size | str, when: When = When.ALWAYS) -> Argument:
    """Memory that other tasks share with the kernel while the call runs."""
    return _pointer(name, Direction.IN_PLACE, size, when)


def how(
    *,
    may_block: bool = False,
    emulated: bool = False,
    changed_fd: str | None = None,
    handler: str = "",
    record: str = "",
    replay: str = "",
    refuse: tuple[str, str] | None = None,
) -> Behaviour:
    """A Behaviour; `handler` names the record and the replay handler at once."""
    return Behaviour(
        may_block=may_block,
        emulated=emulated,
        changes_files=changed_fd is not None,
        changed_fd=changed_fd or "",
        record=record or handler,
        replay=replay or handler,
        refused=Refusal(errno=refuse[0], reason=refuse[1]) if refuse else None,
    )


def call(
    number: int,
    name: str,
    *arguments: Argument,
    does: Behaviour | None = None,
    by: ByCommand | None = None,
    note: str = "",
) -> Syscall:
    """One row, with its x86-64 number."""
    return Syscall(
        name=name,
        numbers={"x86_64": number},
        arguments=arguments,
        behaviour=does or Behaviour(),
        by_command=by,
        note=note,
    )


def refuse(number: int, name: str, errno: str, reason: str, *arguments: Argument) -> Syscall:
    """A row that is answered with an errno and never runs."""
    does = how(refuse=(errno, reason))
    return call(number, name, *arguments, does=does, note=reason)


def cmd(name: str, value: int, *arguments: Argument, does: Behaviour | None = None) -> Command:
    """One command; its arguments replace the row's from the first on."""
    return Command(name=name, value=value, arguments=arguments, behaviour=does or Behaviour())


BLOCKS = how(may_block=True)
