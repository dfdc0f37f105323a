# SPDX-License-Identifier: GPL-2.0-or-later
"""Which clock names the points inside slices, and why (ARCHITECTURE section 6)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pyrr.errors import EnvironmentUnsupported
from pyrr.native import ClockFacts, clock_facts

RECORDER_HAS_PMU = False
"""Whether the record loop can count ticks; until then the probe clock serves everywhere."""

PROBE_REMEDY = "pyrr record --clock=probe PROGRAM"


class Wish(StrEnum):
    """What `pyrr record --clock` may ask for."""

    AUTO = "auto"
    PMU = "pmu"
    PROBE = "probe"


class Clock(StrEnum):
    """What a trace's header may say, besides "none" (a trace that has no such points)."""

    PMU = "pmu"
    PROBE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A clock and the fact that decided; `remedy` is what would make the other one possible."""

    clock: Clock
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.clock}, because {self.reason}"


def choose(
    wish: Wish,
    *,
    core: int = -1,
    facts: Callable[[int], ClockFacts] = clock_facts,
    recorder_has_pmu: bool = RECORDER_HAS_PMU,
) -> Choice:
    """The clock for a recording on `core`. Raises EnvironmentUnsupported if `wish` cannot be.

    The self-test runs unless the probe clock was asked for.
    """
    if wish is Wish.PROBE:
        return Choice(clock=Clock.PROBE, reason="it was asked for")
    found = facts(core)
    if found.pmu_usable and recorder_has_pmu:
        return Choice(clock=Clock.PMU, reason=f"{found.reason} ({found.cpu})")
    if wish is Wish.PMU:
        raise _impossible(found)
    if found.pmu_usable:
        reason = f"recording does not use the PMU yet; {found.reason} ({found.cpu})"
        return Choice(clock=Clock.PROBE, reason=reason)
    return Choice(clock=Clock.PROBE, reason=found.reason, remedy=found.remedy)


def _impossible(found: ClockFacts) -> EnvironmentUnsupported:
    if found.pmu_usable:
        fact = f"the PMU clock is not built into the recorder yet, though {found.reason}"
        return EnvironmentUnsupported(fact, PROBE_REMEDY)
    fact = f"the PMU clock cannot be used: {found.reason}"
    return EnvironmentUnsupported(fact, found.remedy or PROBE_REMEDY)
