# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of waypoints: a file beside the trace's streams, derived from a replay.

It is never needed: one that is missing, damaged, of another version or of another trace
counts as empty, and one that cannot be written is not kept. docs/TRACE_FORMAT.md has its
layout.
"""

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyrr.errors import TraceError
from pyrr.native import Place

INDEX_NAME: Final = "waypoints"
MAGIC: Final = b"PRRWAYPT"
VERSION: Final = 1
PAYLOAD_MAX: Final = 1 << 31
"""Bytes that an index may unpack to."""

_HEAD: Final = struct.Struct("<8sII36s4x16sQ")
_SLICE: Final = struct.Struct("<Q16sQ")
_LENGTH: Final = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Waypoints:
    """The waypoints of one slice, in order; `key` is unique to this list of them."""

    key: str
    places: tuple[Place, ...]

    @classmethod
    def of(cls, places: tuple[Place, ...]) -> "Waypoints":
        """A new list."""
        return cls(uuid.uuid4().hex, places)


Index = Mapping[int, Waypoints]
"""Waypoints by the EventIndex that their slice runs into."""


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


def pack(trace_uuid: str, index: Index) -> bytes:
    """The bytes of an index file."""
    parts = []
    for event, waypoints in sorted(index.items()):
        key = bytes.fromhex(waypoints.key)
        parts.append(_SLICE.pack(event, key, len(waypoints.places)))
        for place in waypoints.places:
            parts += [_LENGTH.pack(len(place.data)), place.data]
    payload = zlib.compress(b"".join(parts), 1)
    name = trace_uuid.encode()
    head = _HEAD.pack(MAGIC, VERSION, 0, name, _checksum(payload), len(payload))
    return head + payload


def unpack(trace_uuid: str, data: bytes) -> dict[int, Waypoints]:
    """The index of these bytes. Raises TraceError where they are not an index of this trace."""
    try:
        magic, version, _flags, name, checksum, length = _HEAD.unpack_from(data)
        payload = data[_HEAD.size :]
        if magic != MAGIC or version != VERSION or name != trace_uuid.encode():
            raise TraceError("the index of waypoints is of another version or trace")
        if len(payload) != length or checksum != _checksum(payload):
            raise TraceError("the index of waypoints is damaged")
        unpacker = zlib.decompressobj()
        return _slices(unpacker.decompress(payload, PAYLOAD_MAX))
    except (struct.error, zlib.error) as error:
        raise TraceError(f"the index of waypoints is damaged: {error}") from None


def _slices(payload: bytes) -> dict[int, Waypoints]:
    found: dict[int, Waypoints] = {}
    at = 0
    while at < len(payload):
        event, key, count = _SLICE.unpack_from(payload, at)
        at += _SLICE.size
        places = []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(payload, at)
            at += _LENGTH.size
            place = Place.of(payload[at : at + length])
            if place.event != event:
                raise TraceError(f"a waypoint of event {event} is of event {place.event}")
            places.append(place)
            at += length
        found[event] = Waypoints(key.hex(), tuple(places))
    return found


def load(directory: Path, trace_uuid: str) -> dict[int, Waypoints]:
    """The trace's index; empty where there is none that can be used."""
    try:
        return unpack(trace_uuid, _read(directory / INDEX_NAME))
    except (OSError, TraceError):
        return {}


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise TraceError(f"{path} is no file")
        return file.read(PAYLOAD_MAX)


def save(directory: Path, trace_uuid: str, index: Index) -> bool:
    """Writes the index in place of the one before; False: that was not possible."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{INDEX_NAME}-", dir=directory)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pack(trace_uuid, index))
        Path(name).replace(directory / INDEX_NAME)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        return False
    return True
