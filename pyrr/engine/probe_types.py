# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of the probes: an ability of this machine, whether it is needed, how it stands."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Need(StrEnum):
    """Whether pyrr can do without an ability."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class State(StrEnum):
    """How an ability stands."""

    WORKS = "works"
    MISSING = "missing"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one trial showed; `detail` is the fact with its value.

    `remedy` is what would help further where nothing is missing.
    """

    works: bool
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One ability: how to try it, and what helps where it is missing.

    `attempt` may raise OSError: that counts as missing. `remedy` is a command or a step.
    """

    ability: str
    purpose: str
    need: Need
    attempt: Callable[[], Outcome]
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer for one ability; `remedy` only where something is missing or could be better."""

    ability: str
    state: State
    detail: str
    remedy: str | None = None


class UntriedError(OSError):
    """An ability could not be tried because another one is missing; `remedy` is the other's."""

    def __init__(self, fact: str, remedy: str) -> None:
        super().__init__(fact)
        self.remedy = remedy


def find(probe: Probe) -> Finding:
    """Tries one ability; never raises OSError."""
    remedy = probe.remedy
    try:
        outcome = probe.attempt()
    except UntriedError as other:
        outcome = Outcome(works=False, detail=f"not tried: {other}")
        remedy = other.remedy
    except OSError as failed:
        outcome = Outcome(works=False, detail=failed.strerror or str(failed))
    if outcome.works:
        return Finding(
            ability=probe.ability,
            state=State.WORKS,
            detail=outcome.detail,
            remedy=outcome.remedy,
        )
    if probe.need is Need.OPTIONAL:
        detail = f"{outcome.detail}; {probe.purpose}"
        return Finding(ability=probe.ability, state=State.NOT_NEEDED, detail=detail)
    return Finding(
        ability=probe.ability,
        state=State.MISSING,
        detail=f"{outcome.detail}; {probe.purpose}",
        remedy=remedy,
    )
