# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 of the supervisor at random moments: every complete block replays.

PYRR_TEST_FULL=1: 200 moments. PYRR_TEST_SEED chooses others.
"""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.compiling import compiled
from tests.support.running import PROJECT, Outcome, Run, marked, record_command, replay_command, run

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
SEED = int(os.environ.get("PYRR_TEST_SEED", "1"))
MOMENTS = 200 if FULL else 10
ROUNDS = "150"
LONGEST_SECONDS = 2.0
END_STATUS = 5
TRACE_ENDS_EARLY = 4


def killed_recording(trace: Path, cwd: Path, delay: float) -> Outcome:
    """Records the busy program, kills pyrr after `delay`; all its output."""
    program = compiled(PROJECT / "tests/support/workloads/busy.c", ("-pthread",))
    recording = Run(record_command(trace, [program, ROUNDS]), cwd=cwd)
    # The timer is the point here: nothing is waited for.
    try:
        recording.process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        recording.process.kill()
    # Its output ends when pyrr and the whole recorded tree are gone.
    outcome = recording.finish(timeout=60)
    assert marked(recording.mark) == [], "recorded processes outlived pyrr"
    return outcome


@pytest.mark.timeout(3600 if FULL else 300)
def test_every_complete_block_replays(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    replayed_bytes = 0
    for moment in range(MOMENTS):
        # The first half second, where mappings and tasks are made, gets half of them.
        delay = rng.uniform(0.05, 0.5 if moment % 2 else LONGEST_SECONDS)
        trace = tmp_path / f"trace-{moment}"
        recorded = killed_recording(trace, tmp_path, delay)
        what = f"killed after {delay:.3f} s (seed {SEED}, moment {moment}), trace {trace}"
        replayed = run(replay_command(trace), cwd=tmp_path)
        assert recorded.stdout.startswith(replayed.stdout), what
        explained = f"{what}: {replayed.stderr.decode()}"
        if recorded.status == END_STATUS or replayed.status == END_STATUS:
            # It came too late, or just before the end, when the trace was whole.
            assert (replayed.status, replayed.stdout) == (END_STATUS, recorded.stdout), explained
        else:
            assert replayed.status == TRACE_ENDS_EARLY, explained
            assert replayed.stderr.startswith(b"pyrr: "), explained
            assert b"\nhint: " in replayed.stderr, explained
        replayed_bytes += len(replayed.stdout)
        shutil.rmtree(trace, ignore_errors=True)
    assert replayed_bytes > 0, "no recording got as far as a line of output"
