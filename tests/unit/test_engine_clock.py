# SPDX-License-Identifier: GPL-2.0-or-later
"""Which clock is chosen, over facts that are made up; and this machine's own facts."""

from collections.abc import Callable

import pytest

from pyrr.engine.clock import Choice, Clock, Wish, choose
from pyrr.engine.probe_cpu import PROBES
from pyrr.engine.probe_types import State, find
from pyrr.errors import EnvironmentUnsupported
from pyrr.native import ClockFacts, clock_facts

EXACT = ClockFacts(pmu_usable=True, cpu="AMD Zen 4", reason="it was exact in 9 runs", remedy="")
INEXACT = ClockFacts(
    pmu_usable=False, cpu="AMD Zen 4", reason="SpecLockMap is on", remedy="switch it off"
)
HOPELESS = ClockFacts(pmu_usable=False, cpu="x", reason="no such event", remedy="")


def always(facts: ClockFacts) -> Callable[[int], ClockFacts]:
    return lambda core: facts


def unasked(core: int) -> ClockFacts:
    raise AssertionError("the self-test ran for nothing")


def test_the_pmu_only_where_it_is_exact() -> None:
    chosen = choose(Wish.AUTO, facts=always(EXACT), recorder_has_pmu=True)
    assert chosen == Choice(clock=Clock.PMU, reason="it was exact in 9 runs (AMD Zen 4)")
    chosen = choose(Wish.PMU, facts=always(EXACT), recorder_has_pmu=True)
    assert chosen.clock is Clock.PMU
    chosen = choose(Wish.AUTO, facts=always(INEXACT), recorder_has_pmu=True)
    assert str(chosen) == "probe, because SpecLockMap is on"
    assert chosen.remedy == "switch it off"


def test_the_core_is_the_one_that_is_tested() -> None:
    asked: list[int] = []

    def facts(core: int) -> ClockFacts:
        asked.append(core)
        return HOPELESS

    choose(Wish.AUTO, core=3, facts=facts)
    assert asked == [3]


@pytest.mark.parametrize("built_in", [False, True])
def test_asking_for_the_impossible(built_in: bool) -> None:
    with pytest.raises(EnvironmentUnsupported, match="cannot be used: SpecLockMap is on") as one:
        choose(Wish.PMU, facts=always(INEXACT), recorder_has_pmu=built_in)
    assert one.value.remedy == "switch it off"
    with pytest.raises(EnvironmentUnsupported) as other:
        choose(Wish.PMU, facts=always(HOPELESS), recorder_has_pmu=built_in)
    assert other.value.remedy == "pyrr record --clock=probe PROGRAM"


def test_as_long_as_the_recorder_has_no_pmu_clock() -> None:
    chosen = choose(Wish.AUTO, facts=always(EXACT), recorder_has_pmu=False)
    assert chosen.clock is Clock.PROBE
    assert "does not use the PMU yet; it was exact" in chosen.reason
    with pytest.raises(EnvironmentUnsupported, match="not built into the recorder yet"):
        choose(Wish.PMU, facts=always(EXACT), recorder_has_pmu=False)


def test_the_probe_clock_needs_no_self_test() -> None:
    assert choose(Wish.PROBE, facts=unasked).clock is Clock.PROBE


def test_this_machine_says_why() -> None:
    facts = clock_facts()
    assert facts.cpu
    assert facts.reason
    (probe,) = (probe for probe in PROBES if probe.ability == "clock")
    found = find(probe)
    assert found.state is State.WORKS
    assert found.detail.startswith(("probe, because ", "pmu, because "))
