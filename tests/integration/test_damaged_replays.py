# SPDX-License-Identifier: GPL-2.0-or-later
"""Bit flips and truncations of a real trace: the right replay, as far as it goes, or status 4.

Never a crash, a hang, a file written, or a wrong result. PYRR_TEST_FULL=1: 2,000 of them.
tests/fuzz/test_trace_damage.py does the same to the reader alone.
"""

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.support.running import Outcome, record_command, replay_command, run

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
SEED = int(os.environ.get("PYRR_TEST_SEED", "1"))
DAMAGES = 2000 if FULL else 60
SCRIPT = (
    "echo begun; for i in 1 2 3; do (echo sub $i; exit $i) & done; wait; "
    "seq 1 300 | sort -r | head -n 4; head -c 70000 /dev/urandom | cksum; exit 9"
)
DAMAGED = 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A good trace and what it recorded."""
    home = tmp_path_factory.mktemp("whole")
    recorded = run(record_command(home / "trace", ["sh", "-c", SCRIPT]), cwd=home)
    assert recorded.status == 9
    return home / "trace", recorded


def damaged_copy(rng: random.Random, trace: Path, target: Path) -> str:
    """A copy with one file changed; says what was done."""
    shutil.copytree(trace, target)
    names = ["events", "data", "trace.json", "files"]
    name = rng.choices(names, weights=[5, 4, 1, 2])[0]
    path = target / name
    if name == "files":
        path = rng.choice(sorted(path.iterdir()))
    path.chmod(0o600)
    contents = bytearray(path.read_bytes())
    at = rng.randrange(len(contents))
    kind = rng.choice(["flip", "flip", "cut", "hole", "remove", "garbage"])
    match kind:
        case "flip":
            contents[at] ^= 1 << rng.randrange(8)
        case "cut":
            del contents[at:]
        case "hole":
            del contents[at : at + rng.randrange(1, 100)]
        case "garbage":
            contents[at : at + 50] = rng.randbytes(50)
    if kind == "remove":
        path.unlink()
    else:
        path.write_bytes(contents)
    return f"{kind} at {at} of {path.relative_to(target)}"


def listing(trace: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_size) for path in trace.rglob("*") if path.is_file())


def check(what: str, recorded: Outcome, replayed: Outcome) -> None:
    explained = f"{what}: status {replayed.status}, {replayed.stderr.decode(errors='replace')}"
    if replayed.status == recorded.status:
        assert replayed == recorded, explained
        return
    assert replayed.status == DAMAGED, explained
    assert recorded.stdout.startswith(replayed.stdout), explained
    assert replayed.stderr.startswith(b"pyrr: "), explained
    assert b"\nhint: " in replayed.stderr, explained


@pytest.mark.timeout(3600 if FULL else 300)
def test_damage_is_found_or_harmless(tmp_path: Path, whole: tuple[Path, Outcome]) -> None:
    trace, recorded = whole
    rng = random.Random(SEED)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    statuses: dict[int, int] = {}
    for number in range(DAMAGES):
        copy = tmp_path / f"copy-{number}"
        what = f"{damaged_copy(rng, trace, copy)} (seed {SEED}, number {number}, {copy})"
        before = listing(copy)
        replayed = run(replay_command(copy), cwd=elsewhere, timeout=60)
        check(what, recorded, replayed)
        assert listing(copy) == before, f"{what}: the replay changed the trace"
        statuses[replayed.status] = statuses.get(replayed.status, 0) + 1
        shutil.rmtree(copy)
    assert list(elsewhere.iterdir()) == []
    assert statuses.get(DAMAGED, 0) > DAMAGES // 4, statuses


def test_the_whole_trace_still_replays(tmp_path: Path, whole: tuple[Path, Outcome]) -> None:
    trace, recorded = whole
    assert run(replay_command(trace, ["--check=memory"]), cwd=tmp_path) == recorded
