# SPDX-License-Identifier: GPL-2.0-or-later
"""Events as frozen data: what `csrc/include/pyrr_core.h` declares, in Python.

The numbers of every enum and the layout of every field are checked against that header
by tests/unit/test_events_layout.py. Times are nanoseconds, sizes bytes, addresses those
of the tracee. Fields of an event are classes of `pyrr.model.fields`.
"""

import struct
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, Protocol, Self, TypeVar


class Arch(IntEnum):
    """Architecture of an event's registers: enum prr_arch."""

    X86_64 = 1


class EventKind(IntEnum):
    """What an event is: enum prr_event_kind."""

    SYSCALL = 1
    SYSCALL_BLOCKED = 2
    SYSCALL_EXIT = 3
    SIGNAL = 4
    INSTRUCTION = 5
    EXIT = 6
    TRACE_END = 7
    NOTE = 8
    PREEMPT = 9


class Origin(IntEnum):
    """Who decided an event's outcome: enum prr_origin."""

    KERNEL = 0
    POLICY = 1
    INJECTED_FAULT = 2


class OutputKind(IntEnum):
    """Where an output's bytes are: enum prr_output_kind."""

    BYTES = 0
    STORE = 1
    HOLE = 2


OUTPUT_MAX = 1 << 20
"""The most bytes one output has; the writer splits longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUid:
    """A task of the recording: tids are reused, serials (from 1) never are."""

    tid: int
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """x86-64 general registers, in the order of struct user_regs_struct."""

    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<27Q")

    r15: int = 0
    r14: int = 0
    r13: int = 0
    r12: int = 0
    rbp: int = 0
    rbx: int = 0
    r11: int = 0
    r10: int = 0
    r9: int = 0
    r8: int = 0
    rax: int = 0
    rcx: int = 0
    rdx: int = 0
    rsi: int = 0
    rdi: int = 0
    orig_rax: int = 0
    rip: int = 0
    cs: int = 0
    rflags: int = 0
    rsp: int = 0
    ss: int = 0
    fs_base: int = 0
    gs_base: int = 0
    ds: int = 0
    es: int = 0
    fs: int = 0
    gs: int = 0

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From `struct prr_regs`; struct.error if `data` has another size."""
        return cls(**dict(zip(REGISTER_NAMES, cls.LAYOUT.unpack(data), strict=True)))

    def pack(self) -> bytes:
        """As `struct prr_regs`."""
        return self.LAYOUT.pack(*(getattr(self, name) for name in REGISTER_NAMES))


REGISTER_NAMES = tuple(field.name for field in fields(Registers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where in a slice an event lies; all zero: at the event the slice runs into."""

    waypoint: int = 0
    site: int = 0
    hits: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Memory that an event wrote: `length` bytes at `addr`.

    BYTES: `data` holds them, or is None where the reader was told not to read them.
    STORE: they are at `store_offset` of the trace's stored file `store_id`. HOLE: zeros.
    """

    as_uid: int
    kind: OutputKind
    addr: int
    length: int
    data: bytes | None = None
    store_id: int = 0
    store_offset: int = 0


class Field(Protocol):
    """A typed field of an event; the classes are in `pyrr.model.fields`."""

    @property
    def tag(self) -> int:
        """The number of the field's kind."""

    def pack(self) -> bytes:
        """The field's bytes in the trace."""


AnyField = TypeVar("AnyField", bound=Field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One recorded nondeterministic input or scheduling decision.

    `index` is its EventIndex (from 1; 0 before it has been written), `regs` the task's
    registers where it begins, `time_ns` CLOCK_MONOTONIC since the recording began.
    """

    index: int = 0
    kind: EventKind
    arch: Arch = Arch.X86_64
    origin: Origin = Origin.KERNEL
    task: TaskUid
    as_uid: int = 0
    time_ns: int = 0
    position: Position = Position()
    regs: Registers = Registers()
    outputs: tuple[Output, ...] = ()
    fields: tuple[Field, ...] = ()

    def field(self, kind: type[AnyField]) -> AnyField | None:
        """The first field of a class, None if the event has none."""
        return next((field for field in self.fields if isinstance(field, kind)), None)

    def fields_of(self, kind: type[AnyField]) -> tuple[AnyField, ...]:
        """All fields of a class, in their order."""
        return tuple(field for field in self.fields if isinstance(field, kind))
