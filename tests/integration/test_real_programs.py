# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs people use: recorded they do what they do bare; three replays are the same.

Before the replays all inputs, outputs and, where it could be copied, the program are gone.
PYRR_TEST_FULL=1 takes the sizes of the foundation's acceptance instead of smaller ones.
"""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import generating, needs
from tests.support.running import PROJECT
from tests.support.workbench import Workbench

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
REPLAYS = 3
WORKLOADS = PROJECT / "tests/support/workloads"
PYTHON = [sys.executable, "-I"]


def sized(small: int, full: int) -> int:
    """A size: the acceptance's own if asked for."""
    return full if FULL else small


def nothing(_work: Path) -> None:
    """No input files."""


def by_line(data: bytes) -> bytes:
    """The lines in order: make -j2 starts independent jobs in the order in which others end."""
    return b"\n".join(sorted(data.split(b"\n")))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A real program. In `command`, @NAME is a copy of that program or workload in bin/."""

    command: tuple[str, ...]
    inputs: Callable[[Path], None] = nothing
    stdin: Callable[[], bytes] = bytes
    status: int = 0
    normalise: Callable[[bytes], bytes] = bytes
    commands_needed: tuple[str, ...] = ()


def words(size: int) -> Callable[[Path], None]:
    return lambda work: generating.text_file(work / "words", size)


CASES: dict[str, Case] = {
    "ls": Case(command=("@ls", "-lR", "--time-style=full-iso", "/usr/include")),
    "grep": Case(
        command=("@grep", "-rn", "define.*futex", "tree"),
        inputs=lambda work: generating.tree(work / "tree", sized(40, 400), 12),
    ),
    "sort": Case(
        command=("@sort", "numbers"),
        inputs=lambda work: generating.numbers_file(work / "numbers", sized(6, 50) << 20),
    ),
    "sort on disk": Case(
        command=("@sort", "-S1M", "--parallel=2", "-u", "numbers"),
        inputs=lambda work: generating.numbers_file(work / "numbers", sized(3, 20) << 20),
    ),
    "tar": Case(
        command=("sh", "-c", "tar c tree | gzip | tar tz"),
        inputs=lambda work: generating.tree(work / "tree", sized(30, 300), 10),
    ),
    "bash": Case(command=("bash", "@shell.sh", str(sized(4, 20))), status=42),
    "git": Case(command=("sh", "@repository.sh", str(sized(6, 40))), commands_needed=("git",)),
    "make": Case(
        command=("make", "-j2", "-C", "project", "--no-print-directory"),
        inputs=lambda work: generating.c_project(work / "project", sized(3, 15)),
        normalise=by_line,
        commands_needed=("make", "cc"),
    ),
    "xz": Case(
        command=("@xz", "-T2", "-3", "--block-size=262144", "-c", "words"),
        inputs=words(sized(1 << 20, 20 << 20)),
        commands_needed=("xz",),
    ),
    "sqlite3": Case(
        command=("@sqlite3", "database"),
        stdin=lambda: generating.inserts(sized(10_000, 100_000)),
        commands_needed=("sqlite3",),
    ),
    "perl": Case(
        command=("@perl", "@words.pl", "words", "6"),
        inputs=words(sized(1 << 20, 8 << 20)),
        commands_needed=("perl",),
    ),
    "awk": Case(
        command=("@awk", "-f", "@words.awk", "words"),
        inputs=words(sized(1 << 20, 16 << 20)),
        status=3,
    ),
    "python threads": Case(command=(*PYTHON, "@threads.py", str(sized(300, 5000)))),
    "python pipelines": Case(command=(*PYTHON, "@pipelines.py", str(sized(4, 30)))),
    "python asyncio": Case(command=(*PYTHON, "@socketpairs.py", str(sized(10, 100)))),
    "python processes": Case(command=(*PYTHON, "@processes.py", str(sized(200, 5000)))),
}


def prepare(case: Case, home: Path) -> Workbench:
    """Copies the program and its script, so that both can be taken away."""
    (home / "bin").mkdir(parents=True)
    command: list[str | Path] = []
    for word in case.command:
        if not word.startswith("@"):
            command.append(word)
            continue
        name = word.removeprefix("@")
        source = WORKLOADS / name if "." in name else Path(shutil.which(name) or name).resolve()
        command.append(shutil.copy2(source, home / "bin" / name))
    return Workbench(
        home=home,
        command=command,
        status=case.status,
        stdin=case.stdin(),
        inputs=case.inputs,
        normalise=case.normalise,
        timeout=600.0 if FULL else 120.0,
    )


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("name", CASES)
def test_real_program(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for command in case.commands_needed:
        if reason := needs.missing(f"command:{command}"):
            pytest.skip(reason)
    bench = prepare(case, tmp_path / "home")
    bare = bench.bare()
    recorded = bench.record()
    bench.assert_same("record, against bare", bare, recorded)
    bench.remove_inputs()
    bench.replay(recorded, REPLAYS)
    bench.clean()


def test_replay_ignores_changed_inputs(tmp_path: Path) -> None:
    """Inputs that are there again, but with other contents, change nothing."""
    bench = Workbench(
        home=tmp_path / "home", command=["sh", "-c", "cat words; wc words"], inputs=words(50_000)
    )
    recorded = bench.record()
    generating.text_file(bench.work / "words", 70_000, seed=99)
    bench.replay(recorded, 1)
    shutil.rmtree(bench.home)
