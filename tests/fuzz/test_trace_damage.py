# SPDX-License-Identifier: GPL-2.0-or-later
"""A damaged trace gives a correct prefix or a TraceError: never a crash, never a lie.

csrc/tests/test_trace_damage.c does the same, and forges checksums, under ASan.
"""

import contextlib
import random
from pathlib import Path

import pytest

from pyrr.errors import TraceError
from pyrr.model.events import Event, EventKind, Output, OutputKind, Registers, TaskUid
from pyrr.model.fields import SyscallField, TextField
from pyrr.native import TraceReader, TraceWriter

ROUNDS = 2000
EVENTS = 50


def event(number: int) -> Event:
    data = bytes([number]) * (number % 30 + 1)
    output = Output(as_uid=1, kind=OutputKind.BYTES, addr=4096, length=len(data), data=data)
    return Event(
        index=number,
        kind=EventKind.TRACE_END if number == EVENTS else EventKind.SYSCALL,
        task=TaskUid(tid=100, serial=1 + number % 2),
        time_ns=number * 1000,
        regs=Registers(rax=number, rip=0x400000 + number % 3),
        outputs=(output,) * (number % 3),
        fields=(SyscallField(result=number, nr=1), TextField(text=str(number))),
    )


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    directory = tmp_path_factory.mktemp("whole")
    with TraceWriter(directory) as writer:
        for number in range(1, EVENTS + 1):
            writer.append(event(number))
            if number % 20 == 0:
                writer.flush()
    return {name: (directory / name).read_bytes() for name in ("events", "data")}


def damaged(rng: random.Random, data: bytes) -> bytes:
    kind = rng.randrange(4)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        end = rng.randrange(at, len(data))
        return data[:at] + data[end:]
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def read(directory: Path, rng: random.Random) -> None:
    with TraceReader(directory) as reader:
        count = 0
        for found in reader:
            count += 1
            assert found == event(count)
        assert count == EVENTS or reader.end_reason
        place = rng.randint(1, EVENTS + 2)
        reader.seek(place)
        sought = reader.next()
        assert sought is None or sought == event(place)


@pytest.mark.parametrize("seed", range(4))
def test_damage(tmp_path: Path, streams: dict[str, bytes], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS // 4):
        name = rng.choice(("events", "events", "data"))
        for stream, data in streams.items():
            content = damaged(rng, data) if stream == name else data
            (tmp_path / stream).write_bytes(content)
        with contextlib.suppress(TraceError):
            read(tmp_path, rng)
