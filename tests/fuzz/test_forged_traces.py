# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces whose checksums are right and whose numbers are not: replay must not believe them.

One number of one field or output of a real trace is forged at a time. The replay may go
well, diverge, or say what is wrong with the trace; it must not crash or hang.
PYRR_TEST_FULL=1: 3,000 of them.
"""

import dataclasses
import os
import random
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from pyrr.errors import PyrrError
from pyrr.model.events import Event, EventKind
from pyrr.native import TraceReader, TraceWriter
from tests.support.compiling import PROGRAMS, compiled
from tests.support.running import record_command, replay_command, run

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
SEED = int(os.environ.get("PYRR_TEST_SEED", "1"))
FORGERIES = 3000 if FULL else 60
# Programs with many kinds of fields, mappings and files.
NAMES = ("a07_write_to_mapped", "mem_objects", "mem_sysv", "a08_wipeonfork", "proc_fork_tree")
EDGES = (0, 1, 2, 7, 4095, 4096, 2**31 - 1, 2**31, 2**32 - 1, 0x70000000, 0x70001000,
         0x7FFFFFFFF000, 2**47, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1)  # fmt: skip
ACCEPTED = {0, 1, 3, 4, 5, 70}
"""All ends of pyrr's own, and those of the programs; not a signal, not a timeout."""


Part = TypeVar("Part")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[Event]]]:
    """Good traces and their events."""
    found = []
    for name in NAMES:
        home = tmp_path_factory.mktemp(name)
        (home / "work").mkdir()
        program = compiled(PROGRAMS / f"{name}.c")
        assert run(record_command(home / "trace", [program]), cwd=home / "work").status == 0
        with TraceReader(home / "trace") as reader:
            found.append((home / "trace", list(reader)))
    return found


def forged_number(rng: random.Random, value: int) -> int:
    """Another number of about the same size, or an extreme one."""
    match rng.randrange(4):
        case 0:
            return rng.choice(EDGES)
        case 1:
            return value ^ 1 << rng.randrange(64)
        case 2:
            return max(value + rng.choice((-4096, -1, 1, 4096)), 0)
        case _:
            return rng.randrange(2**64)


def forged(rng: random.Random, part: Part) -> Part | None:
    """A copy with one number changed; None if it has none."""
    names = [
        member.name
        for member in dataclasses.fields(part)  # type: ignore[arg-type]
        if type(getattr(part, member.name)) is int
    ]
    if not names:
        return None
    name = rng.choice(names)
    number = forged_number(rng, getattr(part, name))
    return dataclasses.replace(part, **{name: number})  # type: ignore[type-var]


def one_forged(rng: random.Random, parts: Sequence[Part]) -> tuple[Part, ...] | None:
    """The parts with one of them forged; None if that one has no number."""
    chosen = rng.randrange(len(parts))
    new = forged(rng, parts[chosen])
    if new is None:
        return None
    return tuple(new if number == chosen else old for number, old in enumerate(parts))


def forge(rng: random.Random, event: Event) -> Event | None:
    """The event with one of its fields or outputs forged; None if there is none to forge."""
    if event.outputs and rng.randrange(3) == 0:
        outputs = one_forged(rng, event.outputs)
        return None if outputs is None else dataclasses.replace(event, outputs=outputs)
    fields = one_forged(rng, event.fields) if event.fields else None
    return None if fields is None else dataclasses.replace(event, fields=fields)


def write_forged(
    rng: random.Random, trace: Path, events: list[Event], target: Path
) -> tuple[int, Event, Event] | None:
    """A copy of the trace with one event forged; None if the writer refuses it."""
    at = rng.randrange(len(events))
    event = forge(rng, events[at])
    if event is None:
        return None
    target.mkdir()
    (target / "files").symlink_to(trace / "files")
    shutil.copy2(trace / "trace.json", target)
    try:
        with TraceWriter(target) as writer:
            for number, old in enumerate(events):
                writer.append(event if number == at else old)
    except (PyrrError, OverflowError, ValueError, struct.error):  # it does not fit
        return None
    return at, events[at], event


@pytest.mark.timeout(7200 if FULL else 300)
def test_forged_traces(tmp_path: Path, traces: list[tuple[Path, list[Event]]]) -> None:
    rng = random.Random(SEED)
    done = 0
    while done < FORGERIES:
        trace, events = rng.choice(traces)
        target = tmp_path / "forged"
        shutil.rmtree(target, ignore_errors=True)
        what = write_forged(rng, trace, events, target)
        if what is None:
            continue
        done += 1
        outcome = run(replay_command(target), cwd=tmp_path, timeout=60)
        at, old, new = what
        # The end of a trace says what the status is: a forged one is a status like any other.
        ends = old.kind is EventKind.TRACE_END and 0 <= outcome.status < 256
        assert ends or outcome.status in ACCEPTED, (
            f"event {at + 1}: {old}\nforged: {new}\n{outcome}"
        )
