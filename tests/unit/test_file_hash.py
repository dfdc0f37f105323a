# SPDX-License-Identifier: GPL-2.0-or-later
"""Stored files are checked before a replay maps them: docs/TRACE_FORMAT.md's formula, and
what a damaged file leads to."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from pyrr.model.fields import StoredFileField
from pyrr.trace.reader import Trace

MASK = 2**64 - 1
A, B = 0x9FB21C651E98DF25, 0xD6E8FEB86659FD93
BLOCK = 4096


def mix(x: int) -> int:
    x ^= x >> 32
    x = x * A & MASK
    x ^= x >> 29
    x = x * B & MASK
    return x ^ x >> 32


def block_value(block: bytes, number: int) -> int:
    if not any(block):
        return 0
    lanes = [number, A, B, ~number & MASK]
    for at, word in enumerate(struct.unpack("<512Q", block)):
        lane = (lanes[at % 4] ^ word) * A & MASK
        lanes[at % 4] = lane ^ lane >> 31
    value = 0
    for lane in reversed(lanes):
        value = mix(lane + value & MASK)
    return value


def file_hash(data: bytes) -> int:
    padded = data + bytes(-len(data) % BLOCK)
    blocks = (padded[at : at + BLOCK] for at in range(0, len(padded), BLOCK))
    total = sum(block_value(block, number) for number, block in enumerate(blocks)) & MASK
    return mix(total ^ len(data))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hash") / "trace"
    run("record", "-o", str(directory), "/bin/true")
    return directory


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyrr", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def announced(trace: Path) -> list[StoredFileField]:
    events = Trace.open(trace).events(with_data=False)
    return [f for event in events for f in event.fields if isinstance(f, StoredFileField)]


def test_every_stored_file_is_announced_with_its_hash(trace: Path) -> None:
    fields = announced(trace)
    names = sorted(int(path.name) for path in (trace / "files").iterdir())
    assert sorted(field.store_id for field in fields) == names
    for field in fields:
        data = (trace / "files" / str(field.store_id)).read_bytes()
        assert (field.size, field.hash) == (len(data), file_hash(data))


@pytest.mark.parametrize("how", ["flip", "cut", "grow", "remove", "link"])
def test_a_damaged_stored_file_is_an_error_of_the_trace(trace: Path, how: str) -> None:
    for field in announced(trace):
        path = trace / "files" / str(field.store_id)
        data = path.read_bytes()
        path.unlink()
        if how == "flip":
            middle = len(data) // 2
            path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
        elif how == "cut":
            path.write_bytes(data[:-1])
        elif how == "grow":
            path.write_bytes(data + b"x")
        elif how == "link":
            path.symlink_to("/bin/true")
        outcome = run("replay", "-a", str(trace))
        assert outcome.returncode == 4, outcome.stderr
        assert f"files/{field.store_id}" in outcome.stderr
        path.unlink(missing_ok=True)
        path.write_bytes(data)
    assert run("replay", "-a", str(trace)).returncode == 0
