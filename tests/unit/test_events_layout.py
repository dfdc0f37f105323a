# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python model of events says what csrc/include/pyrr_core.h says."""

import dataclasses
import enum
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI

from pyrr.errors import TraceError
from pyrr.model import events as ev
from pyrr.model import fields as fl
from pyrr.trace.format import CpuFacts, CpuidLeaf, HostFacts, TraceHeader
from scripts.build_core import HEADER, declarations

PROJECT = Path(__file__).resolve().parents[2]
FORMAT = (PROJECT / "csrc/shared/trace_format.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def ffi() -> FFI:
    parsed = FFI()
    parsed.cdef(declarations((PROJECT / HEADER).read_text(encoding="utf-8")))
    return parsed


ENUMS: list[tuple[type[enum.IntEnum], str, str]] = [
    (ev.Arch, "prr_arch", "PRR_ARCH_"),
    (ev.EventKind, "prr_event_kind", "PRR_EVENT_"),
    (ev.Origin, "prr_origin", "PRR_ORIGIN_"),
    (ev.OutputKind, "prr_output_kind", "PRR_OUTPUT_"),
    (fl.FieldTag, "prr_field_tag", "PRR_FIELD_"),
    (fl.MappingKind, "prr_mapping_kind", "PRR_MAPPING_"),
    (fl.SignalPlace, "prr_signal_place", "PRR_SIGNAL_"),
    (fl.SignalEffect, "prr_signal_effect", "PRR_SIGNAL_"),
    (fl.Instruction, "prr_instruction", "PRR_INSTRUCTION_"),
    (fl.PointMethod, "prr_point_method", "PRR_POINT_"),
]


@pytest.mark.parametrize(("python", "name", "prefix"), ENUMS, ids=str)
def test_enums(ffi: FFI, python: type[enum.IntEnum], name: str, prefix: str) -> None:
    declared = ffi.typeof(f"enum {name}").relements
    assert {prefix + member.name: member.value for member in python} == declared


def attributes(layout: str) -> Iterator[tuple[int, int]]:
    """(offset, size) of each value of a struct format, padding left out."""
    sizes = {"b": 1, "B": 1, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}
    offset = 0
    for count, code in re.findall(r"(\d*)([a-zA-Z])", layout):
        repeat = int(count or 1)
        if code == "x":
            offset += repeat
        elif code == "s":
            yield offset, repeat
            offset += repeat
        else:
            for _ in range(repeat):
                yield offset, sizes[code]
                offset += sizes[code]


def c_members(ffi: FFI, struct: str) -> list[tuple[str, int, int]]:
    members: Any = ffi.typeof(struct).fields
    return [
        (name, member.offset, ffi.sizeof(member.type))
        for name, member in members
        if name != "reserved"
    ]


@pytest.mark.parametrize("cls", fl.PACKED, ids=lambda cls: cls.__name__)
def test_packed_fields(ffi: FFI, cls: type[fl.Packed]) -> None:
    names = {"UNMAP": "range"}
    struct = f"struct prr_field_{names.get(cls.tag.name, cls.tag.name.lower())}"
    python = [
        (name, *place) for name, place in zip(cls.NAMES, attributes(cls.LAYOUT.format), strict=True)
    ]
    assert python == c_members(ffi, struct)
    assert cls.LAYOUT.size == ffi.sizeof(struct)


def test_registers_and_page_hashes(ffi: FFI) -> None:
    python = [
        (name, *place) for name, place in zip(ev.REGISTER_NAMES, attributes("<27Q"), strict=True)
    ]
    assert python == c_members(ffi, "struct prr_regs")
    assert [size for _, size in attributes(fl.PageHashesField.LAYOUT.format)] == [
        size for _, _, size in c_members(ffi, "struct prr_field_page_hash")
    ]


def test_output_limit(ffi: FFI) -> None:
    declared = declarations((PROJECT / HEADER).read_text(encoding="utf-8"))
    assert f"PRR_OUTPUT_MAX = {ev.OUTPUT_MAX}" in declared


def test_every_tag_has_a_class() -> None:
    assert fl.decodable_tags() == frozenset(fl.FieldTag)


@pytest.mark.parametrize(
    ("limit", "python"),
    [
        ("PRR_EVENT_KIND_LAST = PRR_EVENT_", ev.EventKind),
        ("PRR_ORIGIN_LAST = PRR_ORIGIN_", ev.Origin),
        ("PRR_FIELD_TAG_LAST = PRR_FIELD_", fl.FieldTag),
    ],
)
def test_the_reader_knows_all_numbers(limit: str, python: type[enum.IntEnum]) -> None:
    """A number added to pyrr_core.h must be added to trace_format.h too."""
    assert f"{limit}{max(python).name}," in FORMAT
    assert sorted(python) == list(range(min(python), max(python) + 1))


def test_fields_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TraceError, match="a BRK field has 3 bytes instead of 16"):
        fl.decode(fl.FieldTag.BRK, b"abc")
    with pytest.raises(TraceError, match="MAPPING field has 5 bytes instead of 64"):
        fl.decode(fl.FieldTag.MAPPING, b"short")
    with pytest.raises(TraceError, match="INSTRUCTION field: instruction: 99"):
        fl.decode(fl.FieldTag.INSTRUCTION, b"\x63\0\0\0\2\0\0\0")
    with pytest.raises(TraceError, match="REGS_AFTER field has 1 bytes"):
        fl.decode(fl.FieldTag.REGS_AFTER, b"x")
    with pytest.raises(TraceError, match="PAGE_HASHES field has 17 bytes"):
        fl.decode(fl.FieldTag.PAGE_HASHES, bytes(17))


def test_facts_are_frozen() -> None:
    registers = ev.Registers(rax=1)
    assert ev.Registers.unpack(registers.pack()) == registers
    with pytest.raises(dataclasses.FrozenInstanceError):
        registers.rax = 2  # type: ignore[misc]


DOCUMENT = (PROJECT / "docs/TRACE_FORMAT.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("member", [*ev.EventKind, *fl.FieldTag], ids=str)
def test_the_document_lists_every_number(member: enum.IntEnum) -> None:
    assert f"| {member.value} | `{member.name}` |" in DOCUMENT


@pytest.mark.parametrize("facts", [TraceHeader, HostFacts, CpuFacts, CpuidLeaf])
def test_the_document_names_every_member_of_the_header(facts: type) -> None:
    for member in dataclasses.fields(facts):
        assert f"`{member.name}`" in DOCUMENT


def test_the_document_says_what_the_limits_are() -> None:
    for name, value in (
        ("PRR_TRACE_VERSION", "1"),
        ("PRR_EVENT_BLOCK_CUT", "1 << 16"),
        ("PRR_EVENT_BLOCK_TASKS", "256"),
        ("PRR_DATA_BLOCK_MAX", "1 << 20"),
        ("PRR_RAW_FREE", "4 << 20"),
        ("PRR_RAW_RATIO", "64"),
    ):
        assert f"{name} = {value}," in FORMAT
