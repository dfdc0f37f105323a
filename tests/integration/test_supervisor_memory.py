# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor's memory has a bound, however long or wide the recording is.

PYRR_TEST_FULL=1 takes ten times as much.
"""

import os
from pathlib import Path

import pytest

from benchmarks.measuring import measure
from tests.support.running import environment, record_command, replay_command

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
TIMES = 10 if FULL else 1
LIMIT_KIB = 150 * 1024
MEGABYTES = 60 * TIMES
CALLS = 40_000 * TIMES
PROCESSES = 200 * TIMES

COMMANDS = {
    "data": ["sh", "-c", f"head -c {MEGABYTES}M /dev/urandom | cksum"],
    "calls": ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={CALLS}"],
    "processes": ["sh", "-c", f"i=0; while [ $i -lt {PROCESSES} ]; do (:); i=$((i+1)); done"],
    "one big read": ["dd", "if=/dev/zero", "of=/dev/null", f"bs={40 * TIMES}M", "count=1"],
}


@pytest.mark.timeout(1800 if FULL else 300)
@pytest.mark.parametrize("name", COMMANDS)
def test_memory_is_bounded(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for command in (record_command(trace, COMMANDS[name]), replay_command(trace)):
        measured = measure(command, tmp_path, environment())
        assert measured.status == 0
        assert 0 < measured.peak_kib < LIMIT_KIB, f"{measured.peak_kib} KiB at the peak"
