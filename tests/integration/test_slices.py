# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay that is stopped inside slices, by time and at places, goes on as recorded.

All memory is compared where the recorder hashed it, which it did at each PREEMPT by
fingerprint. Slices end at a system call, or by a preemption of either kind.
"""

import contextlib
import itertools
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyrr.errors import Divergence, InternalError
from pyrr.model.events import EventKind
from pyrr.native import Place, ReplaySession, ReplayStopKind, SliceStop
from pyrr.replay import core_for
from pyrr.trace.reader import Trace
from tests.support.compiling import compiled
from tests.support.running import PROJECT, PYRR, run

WORKLOADS = PROJECT / "tests/support/workloads"
NONE = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A trace and slices of it, by the event that they run into."""

    trace: Trace
    by_call: list[int]
    by_fingerprint: list[int]
    by_count: list[int]


@contextlib.contextmanager
def replaying(trace: Trace, event: int) -> Iterator[ReplaySession]:
    """A session before the event."""
    with (
        trace.reader() as reader,
        ReplaySession(
            reader,
            trace_dir=trace.path,
            cpu=core_for(trace.header.core),
            check_memory=True,
            stdout_fd=-1,
            stderr_fd=-1,
        ) as session,
    ):
        assert session.run_to(event)
        yield session


def record(home: Path, words: list[str], *, switch: str = "preempt") -> Recording:
    """Records a program that is stopped every 50 ms, or not at all."""
    command = (*PYRR, "record", "-o", home / "trace", "--switch", switch)
    done = run((*command, *words), cwd=home, timeout=120)
    assert done.status in {0, 1}, done.stderr
    trace = Trace.open(home / "trace")
    events = list(trace.events(with_data=False))
    long = [b for a, b in itertools.pairwise(events) if b.time_ns - a.time_ns > 20_000_000]
    stopped = [event for event in long if event.kind is EventKind.PREEMPT]
    return Recording(
        trace=trace,
        by_call=[event.index for event in long if event.kind is EventKind.SYSCALL],
        by_fingerprint=[event.index for event in stopped if not event.position.hits],
        by_count=[event.index for event in stopped if event.position.hits],
    )


@pytest.fixture(scope="module")
def python_loop(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    words = [sys.executable, "-I", str(WORKLOADS / "looping.py"), "2500000"]
    for _ in range(5):  # whether a site that can be counted is found is up to chance
        recording = record(tmp_path_factory.mktemp("python"), words)
        if recording.by_count and recording.by_fingerprint:
            break
    return recording


@pytest.fixture(scope="module")
def whole_loop(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    words = [sys.executable, "-I", str(WORKLOADS / "looping.py"), "300000"]
    return record(tmp_path_factory.mktemp("whole"), words, switch="share")


@pytest.fixture(scope="module")
def c_loop(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    words = [str(compiled(WORKLOADS / "looping.c")), "150000000"]
    return record(tmp_path_factory.mktemp("c"), words)


def named(session: ReplaySession) -> list[Place]:
    """Places to the slice's end, at random distances."""
    session.name_place()
    distance, places = random.Random(7), []
    while session.run_slice(limit_ns=distance.randrange(500_000, 20_000_000)) is SliceStop.LATE:
        if (place := session.name_place()) is not None:
            places.append(place)
    assert session.run_slice() is SliceStop.EVENT, "it stays at its end"
    assert session.name_place() is None
    return places


def goes_on(session: ReplaySession) -> bool:
    """Whether the rest is replayed as recorded."""
    return session.run().kind is ReplayStopKind.ENDED


def check(recording: Recording, event: int) -> None:
    """Stops in the slice before the event, comes back to each place, goes on."""
    with replaying(recording.trace, event) as session:
        places = named(session)
        assert goes_on(session)
    assert len(places) > 1
    with replaying(recording.trace, event) as session:
        for place in places:
            assert session.run_slice(place) is SliceStop.PLACE
            assert session.is_at(place)
            assert session.run_slice(place) is SliceStop.PLACE, "it is there already"
        assert not session.is_at(places[0])
        assert session.run_slice(limit_ns=0) in {SliceStop.LATE, SliceStop.EVENT}
        assert session.run_slice() is SliceStop.EVENT
        assert goes_on(session)
    with replaying(recording.trace, event) as session:
        distance, late = random.Random(8), 0
        while session.run_slice(places[-1], limit_ns=distance.randrange(400_000)) is SliceStop.LATE:
            late += 1  # now and then while it is in a stub, or at its trap
        assert late > 0
        assert session.is_at(places[-1])
        assert goes_on(session)
    with replaying(recording.trace, event) as session:
        assert session.run_slice(places[-1]) is SliceStop.PLACE
        assert session.run_slice(places[0]) is SliceStop.EVENT, "it has been passed"
        if event in recording.by_fingerprint:
            with pytest.raises(InternalError, match="beyond"):
                goes_on(session)
        else:
            assert goes_on(session)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["by_fingerprint", "by_count"])
def test_a_python_loop(kind: str, python_loop: Recording) -> None:
    events = getattr(python_loop, kind)
    if not events:
        pytest.skip("no slice of this kind came about")
    check(python_loop, events[0])


@pytest.mark.timeout(300)
def test_a_loop_that_was_not_stopped(whole_loop: Recording) -> None:
    check(whole_loop, whole_loop.by_call[-1])


@pytest.mark.timeout(300)
def test_a_c_loop(c_loop: Recording) -> None:
    event = (c_loop.by_fingerprint or c_loop.by_count)[0]
    check(c_loop, event)


def test_what_makes_no_sense_is_refused(c_loop: Recording) -> None:
    event = (c_loop.by_fingerprint or c_loop.by_count)[0]
    with replaying(c_loop.trace, event) as session:
        session.run_slice(limit_ns=1_000_000)
        place = session.name_place()
        assert place is not None
        assert place.event == event
        with pytest.raises(InternalError, match="already"):
            session.run_to(event - 1)
    with replaying(c_loop.trace, 3) as session:
        with pytest.raises(InternalError, match="none of the slice"):
            session.run_slice(place)
        with pytest.raises(InternalError, match="none of the slice"):
            session.is_at(place)
    with replaying(c_loop.trace, 1) as session:
        assert session.run_slice() is SliceStop.EVENT
        assert not session.run_to(NONE)
        with pytest.raises((InternalError, Divergence)):
            session.run_slice()
