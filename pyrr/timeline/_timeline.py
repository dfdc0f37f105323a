# SPDX-License-Identifier: GPL-2.0-or-later
"""The marks of one trace, made and ordered by running its replay.

Without a hardware counter two marks of one slice have no order by themselves (PITFALLS
C1): it is found by running from the last waypoint before both.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pyrr.engine.cpu import this_cpu
from pyrr.errors import Divergence, TraceError, UsageError
from pyrr.native import Place, ReplaySession, SliceStop
from pyrr.replay import core_for
from pyrr.timeline._index import Waypoints, load, save
from pyrr.timeline._marks import Mark, Position
from pyrr.trace.reader import Trace

WAYPOINT_NS: Final = 50_000_000
"""Running time between two waypoints of a slice."""
ATTEMPTS: Final = 5


class _PassedError(Exception):
    """While a mark was being named the task has passed the next waypoint."""


class Timeline:
    """Marks of a trace. Belongs to the thread that made it.

    Each answer that needs running is had from a replay of its own, from the trace's
    beginning: it takes as long as the program took to get there.
    """

    def __init__(self, trace_dir: Path) -> None:
        """Opens the trace. Raises TraceError as `Trace.open` does."""
        self._trace = Trace.open(trace_dir, cpu=this_cpu())
        self._index = load(self._trace.path, self._trace.header.uuid)
        self._careful: list[int] = []
        self._answers: dict[tuple[bytes, bytes], int] = {}

    def waypoints(self, event: int) -> tuple[Mark, ...]:
        """The waypoints of the slice that runs into `event`, about 50 ms apart.

        They are named in one pass when they are not in the index yet. Raises UsageError if
        the trace has no such event, a PyrrError where the slice cannot be stopped in.
        """
        known = self._waypoints(event)
        return tuple(_mark(place, known, n) for n, place in enumerate(known.places, 1))

    def mark_in(self, event: int, seconds: float) -> Mark | None:
        """A mark in the slice that runs into `event`, about so long after its beginning.

        `seconds` are running time. None: the slice is over before. Raises as `waypoints`.
        """
        return next(iter(self.marks_in(event, [seconds])), None)

    def marks_in(self, event: int, seconds: Iterable[float]) -> list[Mark]:
        """Marks at several times of one slice, in one pass; in their order.

        Times at which the slice is over give none. Raises as `waypoints`.
        """
        known = self._waypoints(event)
        times = sorted(int(time * 1e9) for time in seconds)
        for _ in range(ATTEMPTS):
            try:
                with self._session(event) as session:
                    return list(_marks(session, known, times))
            except _PassedError:
                continue
        raise TraceError(f"no place can be named exactly in the slice before event {event}")

    def compare(self, a: Mark, b: Mark) -> int:
        """-1 if `a` comes before `b`, 1 if after it, 0 if they are the same.

        Answers are kept. Raises Divergence if a mark is not found where it must be.
        """
        if a.position.event != b.position.event:
            return -1 if a.position.event < b.position.event else 1
        common = a.waypoints == b.waypoints
        if common and a.position.waypoint != b.position.waypoint:
            return -1 if a.position.waypoint < b.position.waypoint else 1
        if a.place.data == b.place.data:
            return 0
        key = (_digest(a.place), _digest(b.place))
        if key not in self._answers:
            answer = self._compare_by_running(a, b)
            self._answers[key] = answer
            self._answers[key[1], key[0]] = -answer
        return self._answers[key]

    def _waypoints(self, event: int) -> Waypoints:
        if event not in self._index:
            with self._session(event) as session:
                self._index[event] = Waypoints.of(tuple(_named(session)))
            save(self._trace.path, self._trace.header.uuid, self._index)
        return self._index[event]

    def _compare_by_running(self, a: Mark, b: Mark) -> int:
        start = self._common_waypoint(a, b)
        answer = self._look(start, a.place, b.place)
        if answer is not None:
            return answer
        answer = self._look(start, b.place, a.place)
        if answer is None:
            raise Divergence(f"neither of {a.position} and {b.position} is found after the other")
        return -answer

    def _common_waypoint(self, a: Mark, b: Mark) -> Place | None:
        known = self._index.get(a.position.event)
        if known is None or not a.waypoints == b.waypoints == known.key:
            return None
        first = min(a.position.waypoint, b.position.waypoint)
        return known.places[first - 1] if first else None

    def _look(self, start: Place | None, first: Place, second: Place) -> int | None:
        """0: they are the same; -1: `second` comes after `first`; None: it does not."""
        with self._session(first.event) as session:
            for place in (start, first):
                if place is not None and session.run_slice(place) is not SliceStop.PLACE:
                    raise Divergence(f"the place {place} is not found again")
            if session.is_at(second):
                return 0
            return -1 if session.run_slice(second) is SliceStop.PLACE else None

    @contextmanager
    def _session(self, event: int) -> Iterator[ReplaySession]:
        """A replay that stands before `event`."""
        while True:
            with ExitStack() as stack:
                session = stack.enter_context(self._new_session(stack))
                try:
                    if not session.run_to(event):
                        raise UsageError(f"{self._trace.path} has no event {event}")
                except Divergence:
                    # The program looked at its own code, or wrote it, where a probe stood.
                    if not session.missed or session.missed in self._careful:
                        raise
                    self._careful.append(session.missed)
                    continue
                yield session
                return

    def _new_session(self, stack: ExitStack) -> ReplaySession:
        return ReplaySession(
            stack.enter_context(self._trace.reader()),
            trace_dir=self._trace.path,
            cpu=core_for(self._trace.header.core),
            check_memory=False,
            stdout_fd=-1,
            stderr_fd=-1,
            careful=self._careful,
        )


def _digest(place: Place) -> bytes:
    return blake2b(place.data, digest_size=16).digest()


def _mark(place: Place, known: Waypoints, waypoint: int) -> Mark:
    position = Position(event=place.event, waypoint=waypoint, site=place.site)
    return Mark(position=position, place=place, waypoints=known.key)


def _named(session: ReplaySession) -> Iterator[Place]:
    """Places to the slice's end."""
    session.name_place()  # what changes from then on tells which memory to look at
    while session.run_slice(limit_ns=WAYPOINT_NS) is SliceStop.LATE:
        if (place := session.name_place()) is not None:
            yield place


def _marks(session: ReplaySession, known: Waypoints, times: list[int]) -> Iterator[Mark]:
    """Marks at these times (ns) of the slice, each between the waypoints that it tells."""
    session.name_place()
    passed = spent = 0
    for time in times:
        while passed < min(time // WAYPOINT_NS, len(known.places)):
            _go_to(session, known.places[passed])
            passed, spent = passed + 1, 0
        wanted = time - passed * WAYPOINT_NS - spent
        ahead = known.places[passed] if passed < len(known.places) else None
        if wanted > 0:
            match session.run_slice(ahead, limit_ns=wanted):
                case SliceStop.EVENT:
                    if ahead is not None:
                        raise _PassedError
                    return
                case SliceStop.PLACE:
                    passed, spent = passed + 1, 0
                case SliceStop.LATE:
                    spent += wanted
        if (place := session.name_place()) is not None:
            yield _mark(place, known, passed)
    if passed < len(known.places):  # the last mark lies before it for certain
        _go_to(session, known.places[passed])


def _go_to(session: ReplaySession, place: Place) -> None:
    if session.run_slice(place) is not SliceStop.PLACE:
        raise _PassedError
