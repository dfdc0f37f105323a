# SPDX-License-Identifier: GPL-2.0-or-later
"""Spin-waits end: recorded they take at most 20 times as long as bare on one core.

Each program runs its spinners as threads, then as processes over shared memory.
"""

import os
import time
from pathlib import Path

import pytest

from tests.support.compiling import PROGRAMS, compiled
from tests.support.workbench import Workbench

MOST = 20
START_UP_SECONDS = 1.0
# Rounds with which the bare program takes long enough to be compared.
ROUNDS = {
    "spin_flag": 20,
    "spin_yield": 300,
    "spin_clock": 20,
    "spin_ticket_lock": 20,
    "spin_while_holding": 10,
}


@pytest.mark.parametrize("name", ROUNDS)
def test_spin_wait_ends(name: str, tmp_path: Path) -> None:
    program = compiled(PROGRAMS / f"{name}.c", ("-pthread",))
    bench = Workbench(home=tmp_path / "home", command=[program, str(ROUNDS[name])])
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        began = time.monotonic()
        bench.bare()
        bare = time.monotonic() - began
    finally:
        os.sched_setaffinity(0, allowed)
    began = time.monotonic()
    recorded = bench.record()
    took = time.monotonic() - began - START_UP_SECONDS
    assert took <= MOST * bare, f"{took:.2f} s recorded, {bare:.2f} s bare"
    bench.replay(recorded, 1)
    bench.clean()
