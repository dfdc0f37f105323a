# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared without running, from where it is run, and what is remembered."""

from dataclasses import replace

import pytest

from pyrr.errors import Divergence
from pyrr.native import Place
from pyrr.timeline import Mark, Position, Timeline
from pyrr.timeline._index import Waypoints

WAYPOINTS = Waypoints("key", tuple(Place(b"w%d" % n, 7, n) for n in range(3)))


class Imagined(Timeline):
    """A slice whose places lie in the order of their sites; those above 100 do not exist."""

    def __init__(self) -> None:
        self._index = {7: WAYPOINTS}
        self._answers = {}
        self.looks: list[tuple[bytes | None, int, int]] = []

    def _look(self, start: Place | None, first: Place, second: Place) -> int | None:
        self.looks.append((start.data if start else None, first.site, second.site))
        if first.site == second.site:
            return 0
        return -1 if first.site < second.site <= 100 else None


def mark(site: int, *, event: int = 7, waypoint: int = 0, data: bytes = b"") -> Mark:
    return Mark(
        position=Position(event=event, waypoint=waypoint, site=site),
        place=Place(data or b"at %d" % site, event, site),
        waypoints="key",
    )


def test_events_and_waypoints_need_no_running() -> None:
    timeline = Imagined()
    early, late = mark(50, event=6, waypoint=2), mark(3, event=7)
    assert (timeline.compare(early, late), timeline.compare(late, early)) == (-1, 1)
    early, late = mark(50, waypoint=1), mark(3, waypoint=2)
    assert (timeline.compare(early, late), timeline.compare(late, early)) == (-1, 1)
    assert timeline.compare(late, late) == 0
    assert timeline.looks == []


def test_in_one_stretch_it_is_run_once() -> None:
    timeline = Imagined()
    a, b = mark(3, waypoint=2), mark(5, waypoint=2)
    assert [timeline.compare(a, b), timeline.compare(b, a), timeline.compare(a, b)] == [-1, 1, -1]
    assert timeline.looks == [(b"w1", 3, 5)]


def test_what_comes_first_is_looked_for_both_ways() -> None:
    timeline = Imagined()
    assert timeline.compare(mark(5), mark(3)) == 1
    assert timeline.looks == [(None, 5, 3), (None, 3, 5)]


def test_the_same_state_is_the_same_mark() -> None:
    timeline = Imagined()
    assert timeline.compare(mark(5, data=b"one"), mark(5, data=b"other")) == 0


def test_marks_of_another_list_are_run_to_from_the_beginning() -> None:
    timeline = Imagined()
    a, b = mark(3, waypoint=2), replace(mark(5, waypoint=1), waypoints="older")
    assert timeline.compare(a, b) == -1
    assert timeline.looks == [(None, 3, 5)]


def test_what_is_nowhere_is_a_divergence() -> None:
    with pytest.raises(Divergence, match="is found after the other"):
        Imagined().compare(mark(200), mark(300))
