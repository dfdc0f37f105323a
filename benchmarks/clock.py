# SPDX-License-Identifier: GPL-2.0-or-later
"""What naming places inside user code costs, and finding them again in replay.

    scripts/bench clock [--rounds N] [--only NAME ...] [--json FILE]

Three tables: places by program and slice; the cost of time slices over cooperative switching
for threads that only compute; how long signals wait for their place. Goals are marked; the
exit status is 0 either way.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.bench import ROOT, environment
from benchmarks.clock_programs import Program, programs
from benchmarks.measuring import write_figures

WITH_POINTS = (sys.executable, "-m", "tests.support.with_points")
SLICES_MS = (50.0, 5.0, 0.3)
NEVER_MS = 1e9
LOAD_MILLIONS = 150
WORTH_SECONDS = 0.1
"""Less than that is mostly noise of start-up."""
COST_GOALS = {10: 0.05, 1024: 0.10}
SPENT_GOAL = 0.05
REPLAY_GOALS = {50.0: 1.5, 5.0: 1.5, 0.3: 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """One program with one slice; `us_each`: how long the task stands still for a place.

    Seconds are without pyrr's start-up; `record` is without the naming, too: what the program
    itself took. `replay` has all of the search for the places.
    """

    name: str
    slice: float
    points: int
    counted: int
    false: int
    hashed: int
    hashed_in_replay: int
    us_each: float
    record: float
    replay: float
    replay_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Two busy threads, medians in seconds: never interrupted, and with slices of 50 ms."""

    memory: str
    megabytes: int
    cooperative: float
    sliced: float
    cost: float
    points: int
    us_each: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """A busy thread under a profiler at 1 kHz; `spent`: the part of the time naming takes."""

    megabytes: int
    seconds: float
    signals: int
    points: int
    us_each: float
    spent: float
    mean_ms: float
    max_ms: float


class Runner:
    """Records and replays in a directory of its own."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.trace = work / "trace"
        self._stats = work / "stats"
        self._env = environment(work)

    def _run(self, words: list[str], stdin: bytes) -> tuple[float, dict[str, Any]]:
        self._stats.unlink(missing_ok=True)
        began = time.perf_counter()
        done = subprocess.run(
            [*WITH_POINTS, *words],
            cwd=self.work,
            env=self._env,
            input=stdin,
            capture_output=True,
            check=False,
        )
        seconds = time.perf_counter() - began
        if not self._stats.exists():
            sys.exit(f"bench: {' '.join(words)} failed: {done.stderr.decode(errors='replace')}")
        return seconds, json.loads(self._stats.read_text())

    def record(
        self, command: tuple[str, ...], switch: str, slice_ms: float, stdin: bytes = b""
    ) -> tuple[float, dict[str, Any]]:
        """Seconds and what naming places took."""
        shutil.rmtree(self.trace, ignore_errors=True)
        how = [switch, str(int(slice_ms * 1e6))]
        return self._run(["record", str(self.trace), str(self._stats), *how, *command], stdin)

    def replay(self) -> tuple[float, dict[str, Any]]:
        """Seconds and what finding places took."""
        return self._run(["replay", str(self.trace), str(self._stats), "registers"], b"")

    def start_up(self) -> tuple[float, float]:
        """Seconds of recording and of replaying a program that does nothing."""
        runs = [(self.record(("true",), "share", 50)[0], self.replay()[0]) for _ in range(3)]
        return min(run[0] for run in runs), min(run[1] for run in runs)


def places(
    runner: Runner, program: Program, slice_ms: float, start_up: tuple[float, float]
) -> Places:
    """One recording and one replay."""
    recording, named = runner.record(program.command, "preempt", slice_ms, program.stdin)
    replaying, found = runner.replay()
    points = named["points"]
    record = max(0.0, recording - start_up[0] - named["spent_ns"] / 1e9)
    replay = max(0.0, replaying - start_up[1])
    return Places(
        name=program.name,
        slice=slice_ms,
        points=points,
        counted=named["counted"],
        false=max(0, found["candidates"] - found["points"]),
        hashed=named["hashed"],
        hashed_in_replay=found["hashed"],
        us_each=named["spent_ns"] / points / 1e3 if points else 0.0,
        record=record,
        replay=replay,
        replay_ratio=replay / record if record else 0.0,
    )


def cost(runner: Runner, memory: str, megabytes: int, rounds: int) -> Cost:
    """Alternates both ways of recording; the first round, unmeasured, stores the file."""
    command = ("./clock_load", memory, str(megabytes), "2", str(LOAD_MILLIONS))
    if memory == "file":
        with (runner.work / "mapped").open("wb") as mapped:
            for _ in range(megabytes):
                mapped.write(os.urandom(4096) * 256)
        time.sleep(2.1)  # younger files are stored anew each time
    runner.record(command, "share", 50)
    cooperative, sliced, stats = [], [], []
    for _ in range(rounds):
        cooperative.append(runner.record(command, "share", NEVER_MS)[0])
        seconds, points = runner.record(command, "share", 50)
        sliced.append(seconds)
        stats.append(points)
    (runner.work / "mapped").unlink(missing_ok=True)
    points = sum(one["points"] for one in stats)
    without, with_slices = statistics.median(cooperative), statistics.median(sliced)
    return Cost(
        memory=memory,
        megabytes=megabytes,
        cooperative=without,
        sliced=with_slices,
        cost=with_slices / without - 1,
        points=points // rounds,
        us_each=sum(one["spent_ns"] for one in stats) / points / 1e3 if points else 0.0,
    )


def delay(runner: Runner, megabytes: int) -> Delay:
    """One recording, as people record: naming places may take a part of the time only."""
    command = ("./clock_load", "anonymous", str(megabytes), "1", str(LOAD_MILLIONS), "1000")
    seconds, stats = runner.record(command, "share", 50)
    signals, points = max(1, stats["signals"]), max(1, stats["points"])
    return Delay(
        megabytes=megabytes,
        seconds=seconds,
        signals=stats["signals"],
        points=stats["points"],
        us_each=stats["spent_ns"] / points / 1e3,
        spent=stats["spent_ns"] / 1e9 / seconds,
        mean_ms=stats["signal_delay_ns"] / signals / 1e6,
        max_ms=stats["signal_delay_max_ns"] / 1e6,
    )


def filled(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """A table whose first column is a name."""
    table = Table(title=title)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def verdict(value: float, goal: float) -> str:
    """Whether a goal is met."""
    return "met" if value <= goal else "MISSED"


def places_table(rows: list[Places]) -> Table:
    """Naming and finding."""
    titles = ["program", "slice ms", "points", "counted", "false", "hashed", "hashed in replay"]
    titles += ["us/place", "record s", "replay s", "ratio", "goal"]
    shown = [
        [
            row.name,
            f"{row.slice:g}",
            str(row.points),
            str(row.counted),
            str(row.false),
            str(row.hashed),
            str(row.hashed_in_replay),
            f"{row.us_each:.0f}",
            f"{row.record:.3f}",
            f"{row.replay:.3f}",
            f"{row.replay_ratio:.2f}",
            f"<= {goal} {verdict(row.replay_ratio, goal)}"
            if row.points and row.record > WORTH_SECONDS
            else "",
        ]
        for row in rows
        for goal in [REPLAY_GOALS[row.slice]]
    ]
    return filled(
        "places named (recording) and found (replay); seconds: without start-up and naming",
        titles,
        shown,
    )


def cost_table(rows: list[Cost]) -> Table:
    """Slices over cooperative switching."""
    titles = ["memory", "MB", "cooperative s", "sliced s", "cost", "points", "us/place", "goal"]
    shown = [
        [
            row.memory,
            str(row.megabytes),
            f"{row.cooperative:.3f}",
            f"{row.sliced:.3f}",
            f"{row.cost:+.1%}",
            str(row.points),
            f"{row.us_each:.0f}",
            f"<= {goal:.0%} {verdict(row.cost, goal)}",
        ]
        for row in rows
        for goal in [COST_GOALS[row.megabytes]]
    ]
    return filled("two busy threads: slices of 50 ms over none, medians", titles, shown)


def delay_table(rows: list[Delay]) -> Table:
    """How long signals wait."""
    titles = ["written MB", "seconds", "signals", "points", "us/place", "spent", "mean ms"]
    titles += ["max ms", "goal"]
    shown = [
        [
            str(row.megabytes),
            f"{row.seconds:.2f}",
            str(row.signals),
            str(row.points),
            f"{row.us_each:.0f}",
            f"{row.spent:.1%}",
            f"{row.mean_ms:.1f}",
            f"{row.max_ms:.1f}",
            f"spent <= {SPENT_GOAL:.0%} {verdict(row.spent, SPENT_GOAL)}",
        ]
        for row in rows
    ]
    return filled("a profiler at 1 kHz: delay from a signal to its place", titles, shown)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of costs (default: 3)")
    names = "only these programs, `cost` or `delay`"
    parser.add_argument("--only", nargs="+", metavar="NAME", help=names)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args()


def say(what: str) -> None:
    """Progress."""
    print(f"{what} ...", file=sys.stderr, flush=True)


def measured(
    runner: Runner, options: argparse.Namespace
) -> tuple[list[Places], list[Cost], list[Delay]]:
    """All three tables' rows."""
    rows: list[Places] = []
    costs: list[Cost] = []
    delays: list[Delay] = []
    wanted = options.only
    start_up = runner.start_up()
    for program in programs(runner.work):
        for slice_ms in SLICES_MS if not wanted or program.name in wanted else ():
            say(f"{program.name}, {slice_ms:g} ms")
            rows.append(places(runner, program, slice_ms, start_up))
    for memory in ("anonymous", "file"):
        for megabytes in COST_GOALS if not wanted or "cost" in wanted else ():
            say(f"{megabytes} MB of {memory}")
            costs.append(cost(runner, memory, megabytes, options.rounds))
    for megabytes in (1, 64) if not wanted or "delay" in wanted else ():
        say(f"a profiler, {megabytes} MB")
        delays.append(delay(runner, megabytes))
    return rows, costs, delays


def main() -> None:
    """Measures and shows the tables."""
    options = parse_arguments()
    console = Console(width=None if sys.stdout.isatty() else 130)
    with tempfile.TemporaryDirectory(prefix="pyrr-bench-") as name:
        work = Path(name)
        source = ROOT / "benchmarks/clock_load.c"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", work / "clock_load", source], check=True)
        rows, costs, delays = measured(Runner(work), options)
    if not rows and not costs and not delays:
        sys.exit("bench: no such program")
    for table, shown in (
        (places_table(rows), rows),
        (cost_table(costs), costs),
        (delay_table(delays), delays),
    ):
        if shown:
            console.print(table)
    if options.json:
        write_figures(
            options.json,
            options.rounds,
            places=[asdict(row) for row in rows],
            costs=[asdict(row) for row in costs],
            delays=[asdict(row) for row in delays],
        )


if __name__ == "__main__":
    main()
