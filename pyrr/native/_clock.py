# SPDX-License-Identifier: GPL-2.0-or-later
"""What the C core says of this machine's clocks."""

from dataclasses import dataclass

from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import text


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFacts:
    """Whether the PMU clock can be used here: struct prr_clock_facts.

    `reason` is the fact that decided, `remedy` a command or step that helps, or empty.
    """

    pmu_usable: bool
    cpu: str
    reason: str
    remedy: str


def clock_facts(core: int = -1) -> ClockFacts:
    """Runs the PMU's self-test in a child bound to `core` (-1: any); 50 ms where there is one."""
    facts = ffi.new("struct prr_clock_facts *")
    lib.prr_clock_facts(core, facts)
    return ClockFacts(
        pmu_usable=bool(facts.pmu_usable),
        cpu=text(facts.cpu) or "",
        reason=text(facts.reason) or "",
        remedy=text(facts.remedy) or "",
    )
