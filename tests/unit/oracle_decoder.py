# SPDX-License-Identifier: GPL-2.0-or-later
"""A second decoder of a trace's streams, written from docs/TRACE_FORMAT.md alone.

Small and slow; it shares no code with pyrr. The tests hold the C reader against it, so
that an error would have to be made twice to go unseen. It trusts the files: damaged ones
raise whatever they happen to raise.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

FILE_HEADER = struct.Struct("<8sIIIIII")
BLOCK_HEADER = struct.Struct("<IHHQQQQII")
RECORD = struct.Struct("<QHBBIIiIIIIQ")
OUTPUT = struct.Struct("<IIQQ")
STORE = struct.Struct("<QII")
FIELD = struct.Struct("<HHI")
REGISTERS = 27
BYTES, STORED = 0, 1


def blocks(path: Path, magic: bytes, block_magic: bytes) -> Iterator[tuple[Any, bytes]]:
    """(first, data offset, event count) and the raw payload of each block."""
    data = path.read_bytes()
    name, version, arch, size, *reserved, crc = FILE_HEADER.unpack_from(data)
    assert (name, version, arch, size, reserved) == (magic, 1, 1, 32, [0, 0])
    assert crc == zlib.crc32(data[:28])
    at = size
    while at < len(data):
        header = data[at : at + BLOCK_HEADER.size]
        fields = BLOCK_HEADER.unpack(header)
        (number, version, codec, first, data_offset, raw_size, stored_size, count, crc) = fields
        payload = data[at + len(header) : at + len(header) + stored_size]
        assert struct.pack("<I", number) == block_magic
        assert version == 1
        assert crc == zlib.crc32(payload, zlib.crc32(header[:44]))
        raw = payload if codec == 0 else zstandard.ZstdDecompressor().decompress(payload)
        assert len(raw) == raw_size
        yield (first, data_offset, count), raw
        at += len(header) + len(payload)


class Cursor:
    """Takes a record apart; each part is padded to 8 bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        assert len(piece) == size
        self.at += (size + 7) // 8 * 8
        return piece

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size))


def decode(trace: Path) -> list[dict[str, Any]]:
    """Every event of a trace as plain dictionaries."""
    data = b""
    for (first, *_), raw in blocks(trace / "data", b"PYRRDAT\n", b"PRDB"):
        assert first == len(data)
        data += raw
    events: list[dict[str, Any]] = []
    for (first, offset, count), raw in blocks(trace / "events", b"PYRREVT\n", b"PREB"):
        assert first == len(events) + 1
        found = list(_block_events(raw, first, offset, data))
        assert len(found) == count
        events += found
    return events


def _block_events(raw: bytes, index: int, offset: int, data: bytes) -> Iterator[dict[str, Any]]:
    time = 0
    bases: dict[tuple[int, int], list[int]] = {}
    at = 0
    while at < len(raw):
        (size,) = struct.unpack_from("<Q", raw, at)
        record = Cursor(raw[at : at + size])
        at += size
        head = record.unpack(RECORD)
        (_, kind, arch, origin, flags, mask, tid, serial, as_uid, outputs, fields, delta) = head
        position = record.unpack(struct.Struct("<4Q")) if flags & 1 else (0, 0, 0, 0)
        if flags & 2:
            offset += record.unpack(struct.Struct("<Q"))[0]
        regs = bases.setdefault((tid, serial), [0] * REGISTERS)
        for bit in range(REGISTERS):
            if mask >> bit & 1:
                (regs[bit],) = record.unpack(struct.Struct("<Q"))
        time = (time + delta) % 2**64
        event: dict[str, Any] = {
            "index": index, "kind": kind, "arch": arch, "origin": origin, "tid": tid,
            "serial": serial, "as_uid": as_uid, "time": time, "position": position,
            "regs": tuple(regs), "outputs": [], "fields": [],
        }  # fmt: skip
        for _ in range(outputs):
            as_uid, output_kind, addr, length = record.unpack(OUTPUT)
            store = record.unpack(STORE)[:2] if output_kind == STORED else (0, 0)
            content = data[offset : offset + length] if output_kind == BYTES else None
            if output_kind == BYTES:
                offset += length
            event["outputs"].append((as_uid, output_kind, addr, length, *store, content))
        for _ in range(fields):
            tag, _, length = record.unpack(FIELD)
            event["fields"].append((tag & 0x7FFF, bool(tag & 0x8000), record.take(length)))
        assert record.at == size
        yield event
        index += 1
