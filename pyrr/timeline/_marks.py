# SPDX-License-Identifier: GPL-2.0-or-later
"""Marks: exact points of a recording, as values."""

from dataclasses import dataclass, field

from pyrr.native import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where in a recording: in the slice that runs into event `event`, an EventIndex.

    `waypoint` of the slice's waypoints lie before it, or at it. `site` is the address of
    the instruction; `hits` and `steps` are 0 where the place is known by its fingerprint.
    """

    event: int
    waypoint: int
    site: int
    hits: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An exact point of a recording: where it is, and by what it is found again.

    `waypoints` says in which list of waypoints `position.waypoint` counts: lists that
    were made anew lie elsewhere.
    """

    position: Position
    place: Place = field(repr=False)
    waypoints: str = field(repr=False)
