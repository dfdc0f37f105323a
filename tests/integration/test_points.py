# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs that are stopped inside user code at the end of every slice.

Each place is found again in replay, where registers and all memory are compared. Before the
replay inputs and outputs are gone. PYRR_TEST_FULL=1 takes sizes with which each program is
stopped at least 1,000 times at the shortest slice, 10,000 times in all.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import generating, needs
from tests.support.compiling import compiled
from tests.support.running import PROJECT, Outcome, difference, run

FULL = os.environ.get("PYRR_TEST_FULL") == "1"
WORKLOADS = PROJECT / "tests/support/workloads"
WITH_POINTS = (sys.executable, "-m", "tests.support.with_points")
TIMEOUT = 600.0 if FULL else 100.0
# How often a program is stopped at least, by slice in ms: what runs in start-up alone.
FLOORS = {50.0: 0, 5.0: 2, 0.3: 1000 if FULL else 10}


def nothing(_work: Path) -> None:
    """No files."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A program. In `command`, @NAME is a workload, %NAME what `inputs` made."""

    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    inputs: Callable[[Path], None] = nothing
    stdin: Callable[[], bytes] = bytes


def sized(small: int, full: int) -> int:
    """A size."""
    return full if FULL else small


def text(size: int) -> Callable[[Path], None]:
    """A text file."""
    return lambda work: generating.text_file(work / "words", size)


def c_source(work: Path) -> None:
    """A C file that keeps a compiler busy."""
    functions = (
        f"int f{n}(int *a, int n)\n{{\n\tint s = 0;\n\tfor (int i = 0; i < n; i++) {{\n"
        f"\t\ts += a[i] * {n};\n\t\tif (s % {n + 2} == 1)\n\t\t\ts ^= a[n - i - 1];\n\t}}\n"
        "\treturn s;\n}\n"
        for n in range(sized(20, 150))
    )
    (work / "many.c").write_text("".join(functions))


def unordered(work: Path) -> None:
    """The C++ program."""
    shutil.copy2(compiled(WORKLOADS / "unordered.cc", ("-O2",)), work / "unordered")


def java_class(work: Path) -> None:
    """The Java program."""
    command = ["javac", "-d", str(work), str(WORKLOADS / "Mixing.java")]
    subprocess.run(command, check=True, capture_output=True, cwd=work)


def go_program(work: Path) -> None:
    """The Go program."""
    command = ["go", "build", "-o", str(work / "mixing"), str(WORKLOADS / "mixing.go")]
    subprocess.run(command, check=True, capture_output=True, cwd=work)


CASES = {
    "python": Case(command=(sys.executable, "-I", "@counting.py", str(sized(100, 2500)))),
    "gcc": Case(
        command=("gcc", "-O2", "-S", "many.c", "-o", "-"),
        needs=("command:gcc",),
        inputs=c_source,
    ),
    "perl": Case(
        command=("perl", "@words.pl", "words", "3"),
        needs=("command:perl",),
        inputs=text(sized(2_000_000, 16 << 20)),
    ),
    "sqlite3": Case(
        command=("sqlite3", ":memory:"),
        needs=("command:sqlite3",),
        stdin=lambda: generating.inserts(sized(25_000, 120_000)),
    ),
    "xz": Case(
        command=("xz", "-T2", "-6", "--block-size=131072", "-c", "words"),
        needs=("command:xz",),
        inputs=text(sized(400_000, 4 << 20)),
    ),
    "gzip": Case(
        command=("gzip", "-9c", "words"),
        needs=("command:gzip",),
        inputs=text(sized(1_500_000, 4 << 20)),
    ),
    "node": Case(
        command=("node", "@mixing.js", str(sized(25, 150))),
        needs=("command:node",),
    ),
    "java": Case(
        command=("java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "Mixing", str(sized(5, 400))),
        needs=("command:java", "command:javac"),
        inputs=java_class,
    ),
    "go": Case(
        command=("./mixing", str(sized(150, 1200))), needs=("command:go",), inputs=go_program
    ),
    "c++": Case(command=("./unordered", str(sized(600, 1000))), inputs=unordered),
}


class Bench:
    """The directories of one test, and its runs."""

    def __init__(self, case: Case, home: Path) -> None:
        self.case = case
        self.home = home
        self.work = home / "work"
        self.trace = home / "trace"
        self.work.mkdir()
        case.inputs(self.work)
        self.words = [
            str(WORKLOADS / word[1:]) if word.startswith("@") else word for word in case.command
        ]

    def _run(self, *command: str | Path, cwd: Path) -> Outcome:
        env = {"PYRR_TRACE_DIR": str(self.home / "traces"), "TMPDIR": str(self.home)}
        return run(command, cwd=cwd, stdin=self.case.stdin(), env=env, timeout=TIMEOUT)

    def _stats(self, name: str, outcome: Outcome) -> dict[str, Any]:
        path = self.home / name
        assert path.exists(), f"{name} failed, {outcome.status}: {outcome.stderr.decode()}"
        loaded: dict[str, Any] = json.loads(path.read_text())
        return loaded

    def bare(self) -> Outcome:
        """Runs the program alone."""
        return self._run(*self.words, cwd=self.work)

    def record(self, slice_ms: float) -> tuple[Outcome, dict[str, Any]]:
        """Records it with slices of this length that end whoever waits."""
        slice_ns = str(int(slice_ms * 1e6))
        stats = self.home / "recorded"
        start = (*WITH_POINTS, "record", self.trace, stats, "preempt", slice_ns)
        outcome = self._run(*start, *self.words, cwd=self.work)
        return outcome, self._stats("recorded", outcome)

    def replay(self) -> tuple[Outcome, dict[str, Any]]:
        """Replays it with all memory compared, the files gone."""
        shutil.rmtree(self.work)
        start = (*WITH_POINTS, "replay", self.trace, self.home / "replayed", "memory")
        outcome = self._run(*start, cwd=self.home)
        return outcome, self._stats("replayed", outcome)


@pytest.mark.timeout(3 * TIMEOUT)
@pytest.mark.parametrize("slice_ms", FLOORS)
@pytest.mark.parametrize("name", CASES)
def test_points(name: str, slice_ms: float, tmp_path: Path) -> None:
    case = CASES[name]
    for need in case.needs:
        if reason := needs.missing(need):
            pytest.skip(reason)
    bench = Bench(case, tmp_path)
    bare = bench.bare()
    assert bare.status == 0, bare.stderr
    recorded, places = bench.record(slice_ms)
    if problem := difference("record, against bare", bare, recorded):
        raise AssertionError(problem)
    assert places["points"] >= FLOORS[slice_ms]
    replayed, found = bench.replay()
    if problem := difference("replay", recorded, replayed):
        raise AssertionError(problem)
    assert found["points"] == places["points"], "a place was missed"
    assert found["counted"] <= found["points"]
