# SPDX-License-Identifier: GPL-2.0-or-later
"""The typed fields of events: one class a tag, mirroring `struct prr_field_*`.

`decode(tag, data)` makes the class for a tag from the bytes in the trace and raises
TraceError where they do not fit; `field.pack()` is the way back. A field's attributes
have the names and the order of its C struct; bytes behind the struct are its tail.
"""

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Self

from pyrr.errors import TraceError
from pyrr.model.events import Registers
from pyrr.model.field_enums import (
    FieldTag,
    Instruction,
    MappingKind,
    PointMethod,
    SignalEffect,
    SignalPlace,
)

__all__ = ["FieldTag", "Instruction", "MappingKind", "PointMethod", "SignalEffect", "SignalPlace"]


class Packed:
    """Base of the fields that a packed little-endian C struct describes."""

    __slots__ = ()

    tag: ClassVar[FieldTag]
    LAYOUT: ClassVar[struct.Struct]
    """The C struct, its padding and reserved members as pad bytes."""
    NAMES: ClassVar[tuple[str, ...]]
    """Attributes in the order of LAYOUT."""
    TAIL: ClassVar[str | None] = None
    """The attribute that holds the bytes behind the struct."""
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {}
    """Attributes with an enum's values."""

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From a field's bytes; TraceError where they do not fit."""
        size = cls.LAYOUT.size
        if len(data) < size or (cls.TAIL is None and len(data) != size):
            raise TraceError(f"a {cls.tag.name} field has {len(data)} bytes instead of {size}")
        values: dict[str, Any] = dict(zip(cls.NAMES, cls.LAYOUT.unpack_from(data), strict=True))
        for name, convert in cls.ENUMS.items():
            try:
                values[name] = convert(values[name])
            except ValueError as unknown:
                raise TraceError(f"a {cls.tag.name} field: {name}: {unknown}") from None
        if cls.TAIL is not None:
            values[cls.TAIL] = data[size:]
        return cls(**values)

    def pack(self) -> bytes:
        """The field's bytes in a trace."""
        fixed = self.LAYOUT.pack(*(getattr(self, name) for name in self.NAMES))
        tail: bytes = getattr(self, self.TAIL) if self.TAIL is not None else b""
        return fixed + tail


def _names(cls: type[Packed]) -> tuple[str, ...]:
    members = dataclasses.fields(cls)  # type: ignore[arg-type] # all subclasses are dataclasses
    return tuple(member.name for member in members if member.name != cls.TAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyscallField(Packed):
    """A system call's number and result (as rax shows it, negative errno for failures)."""

    tag: ClassVar[FieldTag] = FieldTag.SYSCALL
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<qiI")

    result: int
    nr: int
    flags: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingField(Packed):
    """A mapping as it now exists; `path` is that of the file behind it, for people."""

    tag: ClassVar[FieldTag] = FieldTag.MAPPING
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<6Q4I")
    TAIL: ClassVar[str | None] = "path"
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {"kind": MappingKind}

    start: int
    len: int
    offset: int = 0
    dev: int = 0
    ino: int = 0
    object_size: int = 0
    prot: int = 0
    flags: int = 0
    store_id: int = 0
    kind: MappingKind = MappingKind.ANON
    path: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmapField(Packed):
    """A range that is no longer mapped."""

    tag: ClassVar[FieldTag] = FieldTag.UNMAP
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<2Q")

    start: int
    len: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTaskField(Packed):
    """A task made by fork, vfork, clone or clone3."""

    tag: ClassVar[FieldTag] = FieldTag.NEW_TASK
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<iIiIII3Q")

    tid: int
    serial: int
    ns_tid: int
    as_uid: int
    group: int
    parent: int
    flags: int = 0
    stack: int = 0
    tls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecField(Packed):
    """A new image; `path` is that of the program."""

    tag: ClassVar[FieldTag] = FieldTag.EXEC
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<Ii2Q")
    TAIL: ClassVar[str | None] = "path"

    as_uid: int
    old_tid: int
    stack_limit: int = 0
    brk_start: int = 0
    path: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalField(Packed):
    """A signal that took effect, and the task's signal state after it."""

    tag: ClassVar[FieldTag] = FieldTag.SIGNAL
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<iIII3Q")
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {
        "place": SignalPlace,
        "effect": SignalEffect,
    }

    signo: int
    place: SignalPlace = SignalPlace.AT_EVENT
    effect: SignalEffect = SignalEffect.HANDLER
    altstack_flags: int = 0
    mask: int = 0
    altstack_sp: int = 0
    altstack_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionField(Packed):
    """An instruction that pyrr emulated; rip advances by `length`."""

    tag: ClassVar[FieldTag] = FieldTag.INSTRUCTION
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<II")
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {"instruction": Instruction}

    instruction: Instruction
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitField(Packed):
    """A task's end: its wait status, and whether the thread group ended with it (1)."""

    tag: ClassVar[FieldTag] = FieldTag.EXIT
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<iI")

    status: int
    group_exit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChangeField(Packed):
    """`data` was written at `offset` of a mapped file; `size` is the file's, after it.

    Without data, `len` zeros were.
    """

    tag: ClassVar[FieldTag] = FieldTag.FILE_CHANGE
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<5Q")
    TAIL: ClassVar[str | None] = "data"

    dev: int
    ino: int
    offset: int
    size: int
    len: int
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchField(Packed):
    """Code that pyrr replaced: `length` bytes at `addr`."""

    tag: ClassVar[FieldTag] = FieldTag.PATCH
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<Q8s8sII")
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {"instruction": Instruction}

    addr: int
    original: bytes
    patched: bytes
    length: int
    instruction: Instruction


@dataclass(frozen=True, slots=True, kw_only=True)
class BrkField(Packed):
    """The heap's end moved (page-aligned)."""

    tag: ClassVar[FieldTag] = FieldTag.BRK
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<2Q")

    old_end: int
    new_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RLimitField(Packed):
    """A resource limit was set."""

    tag: ClassVar[FieldTag] = FieldTag.RLIMIT
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<I4x2Q")

    resource: int
    soft: int
    hard: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoField(Packed):
    """`data` went to the recording's stdout (1) or stderr (2)."""

    tag: ClassVar[FieldTag] = FieldTag.ECHO
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<I4x")
    TAIL: ClassVar[str | None] = "data"

    stream: int
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoFdField(Packed):
    """Descriptor `fd` leads to the recording's stdout (1) or stderr (2); `cloexec`: 0 or 1."""

    tag: ClassVar[FieldTag] = FieldTag.ECHO_FD
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<iII4x")

    fd: int
    stream: int
    cloexec: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFileField(Packed):
    """What must stand in the file store under an id: `size` in bytes, `hash` of the contents."""

    tag: ClassVar[FieldTag] = FieldTag.STORED_FILE
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<I4x2Q")

    store_id: int
    size: int
    hash: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PointField(Packed):
    """The place of a PREEMPT.

    Bit i of `varying`: register i changed shortly before it; `flags`: 1, the code there was
    read or written as data; `code`: its first `code_len` bytes.
    """

    tag: ClassVar[FieldTag] = FieldTag.POINT
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<4I16s")
    ENUMS: ClassVar[dict[str, Callable[[int], IntEnum]]] = {"method": PointMethod}

    method: PointMethod
    varying: int
    flags: int = 0
    code_len: int = 0
    code: bytes = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageField(Packed):
    """`data`: the page at `addr` as it is at the place of a PREEMPT, dead stack as zeros."""

    tag: ClassVar[FieldTag] = FieldTag.PAGE
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<Q")
    TAIL: ClassVar[str | None] = "data"

    addr: int
    data: bytes = b""


PACKED: tuple[type[Packed], ...] = (
    SyscallField, MappingField, UnmapField, NewTaskField, ExecField, SignalField,
    InstructionField, ExitField, FileChangeField, PatchField, BrkField, RLimitField, EchoField,
    EchoFdField, StoredFileField, PointField,
    PageField,
)  # fmt: skip
for _cls in PACKED:
    _cls.NAMES = _names(_cls)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegsAfterField:
    """The task's registers after the event."""

    tag: ClassVar[FieldTag] = FieldTag.REGS_AFTER

    regs: Registers

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From `struct prr_regs`; TraceError where the bytes do not fit."""
        if len(data) != Registers.LAYOUT.size:
            raise TraceError(f"a REGS_AFTER field has {len(data)} bytes")
        return cls(regs=Registers.unpack(data))

    def pack(self) -> bytes:
        """As `struct prr_regs`."""
        return self.regs.pack()


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesField:
    """Base of the fields that are bytes with a meaning of their own."""

    data: bytes

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Any bytes will do."""
        return cls(data=data)

    def pack(self) -> bytes:
        """The bytes."""
        return self.data


@dataclass(frozen=True, slots=True, kw_only=True)
class XStateAfterField(BytesField):
    """NT_X86_XSTATE bytes after the event."""

    tag: ClassVar[FieldTag] = FieldTag.XSTATE_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class SigInfoField(BytesField):
    """siginfo_t, 128 bytes."""

    tag: ClassVar[FieldTag] = FieldTag.SIGINFO


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField:
    """The text of a NOTE."""

    tag: ClassVar[FieldTag] = FieldTag.TEXT

    text: str

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From UTF-8; what is not UTF-8 becomes U+FFFD."""
        return cls(text=data.decode("utf-8", "replace"))

    def pack(self) -> bytes:
        """As UTF-8."""
        return self.text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgvField:
    """The arguments of an exec."""

    tag: ClassVar[FieldTag] = FieldTag.ARGV

    argv: tuple[bytes, ...]

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From NUL-separated arguments; a last NUL ends the last one."""
        return cls(argv=tuple(data.removesuffix(b"\0").split(b"\0")) if data else ())

    def pack(self) -> bytes:
        """Each argument with its NUL."""
        return b"".join(argument + b"\0" for argument in self.argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHashesField:
    """(address, hash) of pages, for `--check=memory`."""

    tag: ClassVar[FieldTag] = FieldTag.PAGE_HASHES
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<2Q")

    pages: tuple[tuple[int, int], ...]

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From `struct prr_field_page_hash[]`; TraceError where the bytes do not fit."""
        if len(data) % cls.LAYOUT.size:
            raise TraceError(f"a PAGE_HASHES field has {len(data)} bytes")
        return cls(pages=tuple(cls.LAYOUT.iter_unpack(data)))

    def pack(self) -> bytes:
        """As `struct prr_field_page_hash[]`."""
        return b"".join(self.LAYOUT.pack(*page) for page in self.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsField:
    """(address, value, 1 if it changed shortly before) of four-byte words near a place."""

    tag: ClassVar[FieldTag] = FieldTag.WORDS
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<Q2I")

    words: tuple[tuple[int, int, int], ...]

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """From `struct prr_field_word[]`; TraceError where the bytes do not fit."""
        if len(data) % cls.LAYOUT.size:
            raise TraceError(f"a WORDS field has {len(data)} bytes")
        return cls(words=tuple(cls.LAYOUT.iter_unpack(data)))

    def pack(self) -> bytes:
        """As `struct prr_field_word[]`."""
        return b"".join(self.LAYOUT.pack(*word) for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """A field of a newer pyrr's, which is not required."""

    tag: int
    data: bytes

    def pack(self) -> bytes:
        """The bytes."""
        return self.data


AnyTypedField = (
    Packed
    | RegsAfterField
    | XStateAfterField
    | SigInfoField
    | TextField
    | ArgvField
    | PageHashesField
    | WordsField
    | UnknownField
)

_OTHERS: tuple[Any, ...] = (
    RegsAfterField, XStateAfterField, SigInfoField, TextField, ArgvField, PageHashesField,
    WordsField,
)  # fmt: skip
_DECODERS: dict[int, Callable[[bytes], AnyTypedField]] = {
    int(cls.tag): cls.unpack for cls in (*PACKED, *_OTHERS)
}


def decode(tag: int, data: bytes) -> AnyTypedField:
    """The field for a tag and its bytes; TraceError where they do not fit."""
    decoder = _DECODERS.get(tag)
    return decoder(data) if decoder else UnknownField(tag=tag, data=data)


def decodable_tags() -> frozenset[int]:
    """The tags that have a class of their own."""
    return frozenset(_DECODERS)
