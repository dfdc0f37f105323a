# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of waypoints: what is read back, what counts as none."""

import os
import struct
import uuid
from pathlib import Path

import pytest

from pyrr.errors import TraceError
from pyrr.native import Place
from pyrr.timeline._index import INDEX_NAME, Waypoints, load, pack, save, unpack

TRACE = str(uuid.UUID(int=1))
OTHER = str(uuid.UUID(int=2))
RIP = 16
"""Of struct prr_regs."""


def place_bytes(event: int, site: int, *, words: int = 1, xstate: bytes = b"x" * 24) -> bytes:
    """A place as docs/TRACE_FORMAT.md has it, with made-up contents."""
    regs = [0] * 27
    regs[RIP] = site
    head = struct.pack("<8sQIIIIII", b"PRRPLAC1", event, 1, 1, words, 1, 1, len(xstate))
    point = struct.pack("<IIII16s", 1, 0, 0, 3, b"abc")
    fields = struct.pack("<QII", 0x1000, 5, 1) * words + struct.pack("<QQ", 0x2000, 7)
    return head + struct.pack("<27Q", *regs) + point + fields + bytes(8 + 4096) + xstate


def sample() -> dict[int, Waypoints]:
    places = tuple(Place.of(place_bytes(9, site)) for site in (5, 6))
    return {9: Waypoints.of(places), 12: Waypoints.of(())}


def test_a_place_keeps_its_bytes() -> None:
    data = place_bytes(9, 0x401000)
    assert Place.of(data) == Place(data, 9, 0x401000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        place_bytes(9, 5)[:-1],
        place_bytes(9, 5) + b"x",
        b"X" + place_bytes(9, 5)[1:],
        place_bytes(9, 5, words=49),
        place_bytes(9, 5)[:24] + b"\xff" * 16 + place_bytes(9, 5)[40:],
    ],
)
def test_other_bytes_are_no_place(data: bytes) -> None:
    with pytest.raises(TraceError, match="no place"):
        Place.of(data)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    index = sample()
    assert save(tmp_path, TRACE, index)
    assert load(tmp_path, TRACE) == index
    assert [path.name for path in tmp_path.iterdir()] == [INDEX_NAME]


def test_two_lists_have_different_keys() -> None:
    assert Waypoints.of(()) != Waypoints.of(())


def test_one_of_another_trace_is_none(tmp_path: Path) -> None:
    save(tmp_path, TRACE, sample())
    assert load(tmp_path, OTHER) == {}


def test_any_damage_is_noticed() -> None:
    data = pack(TRACE, sample())
    flags = range(12, 16)
    padding = range(52, 56)
    for at in range(len(data)):
        if at in flags or at in padding:
            continue
        damaged = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        with pytest.raises(TraceError):
            unpack(TRACE, damaged)
    for length in range(0, len(data), 7):
        with pytest.raises(TraceError):
            unpack(TRACE, data[:length])


def test_a_waypoint_of_another_event_is_refused() -> None:
    index = {10: Waypoints.of((Place.of(place_bytes(9, 5)),))}
    with pytest.raises(TraceError, match="event 10"):
        unpack(TRACE, pack(TRACE, index))


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, TRACE) == {}
    os.mkfifo(tmp_path / INDEX_NAME)
    assert load(tmp_path, TRACE) == {}


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    assert not save(tmp_path / "missing", TRACE, sample())
    (tmp_path / INDEX_NAME).mkdir()
    assert not save(tmp_path, TRACE, sample())
    assert [path.name for path in tmp_path.iterdir()] == [INDEX_NAME]
