# SPDX-License-Identifier: GPL-2.0-or-later
"""Random system calls by seed: whatever they did in the recording, the replay repeats.

PYRR_TEST_FULL=1: 50 seeds in both modes. PYRR_TEST_SEED=N: that seed alone, in both.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.compiling import compiled
from tests.support.running import PROJECT
from tests.support.workbench import Workbench

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
CHOSEN = os.environ.get("PYRR_TEST_SEED")
SEEDS = [int(CHOSEN)] if CHOSEN else list(range(1, 51 if FULL else 9))
STEPS = "1500" if FULL else "600"
MODES = {"share": (), "always": ("--switch=always",)}


def runs() -> list[tuple[int, str]]:
    """(seed, mode): both modes where there is time, else in turns."""
    if FULL or CHOSEN:
        return [(seed, mode) for seed in SEEDS for mode in MODES]
    return [(seed, list(MODES)[seed % 2]) for seed in SEEDS]


@pytest.mark.parametrize(("seed", "mode"), runs())
def test_seed(seed: int, mode: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    source = PROJECT / "tests/fuzz/syscall_fuzz.c"
    program = shutil.copy2(compiled(source, ("-pthread",)), home / "bin/syscall_fuzz")
    bench = Workbench(home=home, command=[program, str(seed), STEPS], status=None)
    recorded = bench.record(*MODES[mode])
    assert b": final hash " in recorded.stdout, recorded
    assert recorded.stderr == b""
    bench.remove_inputs()
    bench.replay(recorded, 2)
    bench.clean()
