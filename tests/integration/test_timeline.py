# SPDX-License-Identifier: GPL-2.0-or-later
"""Marks in event-free loops: made in one pass, so that their order is known, and put in order
by running. PYRR_TEST_FULL=1: 100 marks in 10 s of a loop in place of 20 in one.
"""

import functools
import itertools
import os
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pyrr.timeline import Mark, Timeline
from pyrr.trace.reader import Trace
from tests.support.compiling import compiled
from tests.support.running import PROJECT, PYRR, run

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
TIMES = 10 if FULL else 1
MARKS = 100 if FULL else 20
WORKLOADS = PROJECT / "tests/support/workloads"
SECONDS = 0.05
"""Between two waypoints."""


def python_loop() -> list[str]:
    return [sys.executable, "-I", str(WORKLOADS / "looping.py"), str(2_500_000 * TIMES)]


def c_loop() -> list[str]:
    return [str(compiled(WORKLOADS / "looping.c")), str(250_000_000 * TIMES)]


LOOPS: dict[str, Callable[[], list[str]]] = {"python": python_loop, "c": c_loop}


def recorded(words: list[str], home: Path, *options: str) -> Path:
    """The trace of a program."""
    trace = home / "trace"
    done = run((*PYRR, "record", "-o", trace, *options, *words), cwd=home, timeout=120)
    assert done.status in {0, 1}, done.stderr
    return trace


def longest_slice(trace: Path) -> int:
    """The EventIndex of the event before which most time passed."""
    events = list(Trace.open(trace).events(with_data=False))
    gaps = [(b.time_ns - a.time_ns, b.index) for a, b in itertools.pairwise(events)]
    return max(gaps)[1]


def random_marks(timeline: Timeline, event: int, count: int) -> list[Mark]:
    """Marks at random times, in their order."""
    length = len(timeline.waypoints(event)) * SECONDS
    assert length >= 3 * SECONDS, "the loop is over too soon"
    times = random.Random(count).sample(range(int(length * 1e6)), count)
    marks = timeline.marks_in(event, [time / 1e6 for time in times])
    assert len(marks) >= count * 0.9
    return marks


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("name", LOOPS)
def test_any_two_marks_are_put_in_order(name: str, tmp_path: Path) -> None:
    trace = recorded(LOOPS[name](), tmp_path)
    event = longest_slice(trace)
    timeline = Timeline(trace)
    marks = random_marks(timeline, event, MARKS)
    shuffled = marks.copy()
    random.Random(1).shuffle(shuffled)
    ordered = sorted(shuffled, key=functools.cmp_to_key(timeline.compare))
    assert ordered == marks
    waypoints = timeline.waypoints(event)
    assert [timeline.compare(a, b) for a, b in itertools.pairwise(waypoints)] == [-1] * (
        len(waypoints) - 1
    )
    assert timeline.compare(marks[0], marks[0]) == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", LOOPS)
def test_the_order_needs_no_waypoints(name: str, tmp_path: Path) -> None:
    trace = recorded(LOOPS[name](), tmp_path)
    timeline = Timeline(trace)
    marks = random_marks(timeline, longest_slice(trace), 4)
    strange = [replace(mark, waypoints="") for mark in marks]
    for (i, a), (k, b) in itertools.combinations(enumerate(strange), 2):
        pair = (a, b) if (i + k) % 2 else (b, a)
        assert timeline.compare(*pair) == (-1 if (i + k) % 2 else 1)


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def turned(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.timeout(300)
def test_the_index_can_be_lost(tmp_path: Path) -> None:
    trace = recorded(python_loop(), tmp_path)
    event = longest_slice(trace)
    timeline = Timeline(trace)
    marks = random_marks(timeline, event, 3)
    index = trace / "waypoints"
    kept = index.read_bytes()
    assert Timeline(trace).waypoints(event) == timeline.waypoints(event)
    for damaged in (None, cut(kept), turned(kept)):
        index.unlink()
        if damaged is not None:
            index.write_bytes(damaged)
        other = Timeline(trace)
        assert len(other.waypoints(event)) > 0
        assert other.waypoints(event) != timeline.waypoints(event)
        assert index.read_bytes() not in {kept, damaged}
        assert [other.compare(a, b) for a, b in itertools.pairwise(marks)] == [-1, -1]
        assert other.compare(marks[2], marks[0]) == 1


def test_short_slices_have_no_waypoints(tmp_path: Path) -> None:
    trace = recorded([sys.executable, "-I", "-c", "pass"], tmp_path)
    timeline = Timeline(trace)
    assert timeline.waypoints(1) == ()
    assert timeline.mark_in(1, 0) is None
    assert timeline.mark_in(20, 60) is None
