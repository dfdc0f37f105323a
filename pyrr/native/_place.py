# SPDX-License-Identifier: GPL-2.0-or-later
"""Places inside a slice, as values."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self

from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import CData, check, error_slot


class SliceStop(IntEnum):
    """enum prr_slice_stop: where running on in a slice has ended."""

    EVENT = 1
    PLACE = 2
    LATE = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A place inside the slice that runs into event `event`, at the instruction at `site`.

    `data` are the bytes of its fingerprint, which docs/TRACE_FORMAT.md describes.
    """

    data: bytes = field(repr=False)
    event: int
    site: int

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The place that these bytes describe. Raises TraceError if they describe none."""
        pointer = place_pointer(data)
        position: Any = ffi.new("struct prr_position *")
        lib.prr_place_position(pointer, position)
        return cls(data, int(lib.prr_place_event(pointer)), int(position.site))


def place_pointer(data: bytes) -> CData:
    """An owned `struct prr_place *`, for `pyrr.native` only. Raises TraceError."""
    slot = ffi.new("struct prr_place **")
    with error_slot() as error:
        check(lib.prr_place_create(data, len(data), slot, error), error)
    return ffi.gc(slot[0], lib.prr_place_destroy)


def place_from(pointer: CData) -> Place:
    """Takes a `struct prr_place *` over."""
    owned = ffi.gc(pointer, lib.prr_place_destroy)
    data, length = ffi.new("uint8_t const **"), ffi.new("size_t *")
    lib.prr_place_bytes(owned, data, length)
    return Place.of(bytes(ffi.buffer(data[0], length[0])))
