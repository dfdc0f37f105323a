# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording and replaying cost: alternating bare, record and replay; medians.

    scripts/bench [--rounds N] [--only NAME ...] [--json FILE]

Rows marked with a goal say whether it was met; the exit status is 0 either way, since a
busy machine is no fault of the code. `own CPU` is the supervisor's, the rest of the time
goes to the tracee, the kernel's switches between both, and waiting.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import Measured, measure, write_figures

ROOT = Path(__file__).resolve().parent.parent
PYRR = (sys.executable, "-m", "pyrr")
CALLS = 100_000
ROUND_TRIPS = 20_000
CALLS_PER_ROUND_TRIP = 4
PYTHON_LOOP = "x = 1\nfor i in range(30_000_000): x = (x * 31 + i) % 1000003\nprint(x)"
GIT = (
    "rm -rf r; git init -q r; cd r; for n in 1 2 3 4 5 6; do seq 1 $((n * 200)) > f$n; git add .;"
    " git -c user.name=n -c user.email=e commit -q -m $n; done; git log --stat | cat; git gc -q"
)
MEMORY_GOAL_MB = 150
COMPUTE_GOAL = 1.15
CALL_GOAL_US = 25
START_GOAL_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A command to measure; `calls`: how many system calls its loop makes, 0 if not known."""

    name: str
    command: tuple[str, ...]
    calls: int = 0
    compute_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Medians of one workload; times in seconds, memory in MB."""

    name: str
    bare: float
    record: float
    replay: float
    record_ratio: float
    replay_ratio: float
    replay_to_record: float
    us_per_call: float | None
    record_peak_mb: float
    replay_peak_mb: float
    record_own_cpu: float
    replay_own_cpu: float
    trace_mb: float
    goal: str
    met: bool | None


def workloads(work: Path) -> list[Workload]:
    """All workloads, with the files they need made in `work`."""
    helper = work / "syscalls"
    subprocess.run(["gcc", "-O2", "-o", helper, ROOT / "benchmarks/syscalls.c"], check=True)
    with (work / "text").open("w") as text:
        for number in range(300_000):
            text.write(f"line {number * 7919 % 100_003} of the text to compress\n")
    calls = str(CALLS)
    trips = str(ROUND_TRIPS)
    found = [
        Workload(name="true", command=("true",)),
        Workload(
            name="python loop",
            command=(sys.executable, "-I", "-c", PYTHON_LOOP),
            compute_bound=True,
        ),
        Workload(name="xz", command=("xz", "-kc", "-6", "text"), compute_bound=True),
        Workload(name="getppid", command=(str(helper), "getppid", calls), calls=CALLS),
        Workload(name="read /dev/zero", command=(str(helper), "zero", calls), calls=CALLS),
        Workload(
            name="pipe ping-pong",
            command=(str(helper), "pingpong", trips),
            calls=ROUND_TRIPS * CALLS_PER_ROUND_TRIP,
        ),
        Workload(name="ls -lR", command=("ls", "-lR", "/usr/include")),
        Workload(name="git", command=("sh", "-c", GIT)),
    ]
    return [workload for workload in found if shutil.which(workload.command[0])]


def environment(work: Path) -> dict[str, str]:
    """The environment, with pyrr of this checkout and traces thrown away."""
    plain = {name: value for name, value in os.environ.items() if name != "PYRR_RUNNING"}
    return {**plain, "PYTHONPATH": str(ROOT), "PYRR_TRACE_DIR": str(work / "traces"), "LC_ALL": "C"}


def size_mb(directory: Path) -> float:
    """Bytes on disk of the trace's own streams, in MB; stored files are shared."""
    return sum(path.stat().st_size for path in directory.iterdir() if path.is_file()) / 1e6


def one_round(
    workload: Workload, work: Path, env: dict[str, str]
) -> tuple[Measured, Measured, Measured, float]:
    """Bare, record, replay, and the size of the trace."""
    trace = work / "trace"
    shutil.rmtree(trace, ignore_errors=True)
    bare = measure(workload.command, work, env)
    record = measure([*PYRR, "record", "-o", trace, "--", *workload.command], work, env)
    replay = measure([*PYRR, "replay", "-a", trace], work, env)
    for name, run in (("record", record), ("replay", replay)):
        if run.status != bare.status:
            sys.exit(f"bench: {workload.name}: {name} ended with {run.status}, not {bare.status}")
    return bare, record, replay, size_mb(trace)


def goal_of(workload: Workload, bare: float, record: float) -> tuple[str, bool | None]:
    """The goal of a workload in words, and whether it is met."""
    if workload.name == "true":
        return f"record < {START_GOAL_SECONDS} s", record < START_GOAL_SECONDS
    if workload.compute_bound:
        return f"record <= {COMPUTE_GOAL} x bare", record <= COMPUTE_GOAL * bare
    if workload.calls:
        us = (record - bare) / workload.calls * 1e6
        return f"<= {CALL_GOAL_US} us a call", us <= CALL_GOAL_US
    return "", None


def bench(workload: Workload, rounds: int, work: Path, env: dict[str, str]) -> Row:
    """The medians of some rounds; one unmeasured bare run warms the caches."""
    measure(workload.command, work, env)
    results = [one_round(workload, work, env) for _ in range(rounds)]

    def median(which: int, attribute: str) -> float:
        return float(statistics.median(getattr(result[which], attribute) for result in results))

    bare, record, replay = (median(which, "seconds") for which in range(3))
    goal, met = goal_of(workload, bare, record)
    return Row(
        name=workload.name,
        bare=bare,
        record=record,
        replay=replay,
        record_ratio=record / bare,
        replay_ratio=replay / bare,
        replay_to_record=replay / record,
        us_per_call=(record - bare) / workload.calls * 1e6 if workload.calls else None,
        record_peak_mb=max(result[1].peak_kib for result in results) / 1024,
        replay_peak_mb=max(result[2].peak_kib for result in results) / 1024,
        record_own_cpu=median(1, "own_cpu_seconds"),
        replay_own_cpu=median(2, "own_cpu_seconds"),
        trace_mb=statistics.median(result[3] for result in results),
        goal=goal,
        met=met,
    )


def table(rows: list[Row]) -> Table:
    """The rows for people."""
    shown = Table(title="seconds, medians; supervisor's own CPU time and peak memory")
    shown.add_column("workload")
    titles = ["bare", "record", "x bare", "replay", "x bare", "replay/record", "us/call"]
    for title in [*titles, "own CPU", "peak MB", "trace MB"]:
        shown.add_column(title, justify="right")
    shown.add_column("goal")
    for row in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[row.met]
        shown.add_row(
            row.name,
            f"{row.bare:.3f}",
            f"{row.record:.3f}",
            f"{row.record_ratio:.2f}",
            f"{row.replay:.3f}",
            f"{row.replay_ratio:.2f}",
            f"{row.replay_to_record:.2f}",
            "" if row.us_per_call is None else f"{row.us_per_call:.1f}",
            f"{row.record_own_cpu:.2f} / {row.replay_own_cpu:.2f}",
            f"{row.record_peak_mb:.0f} / {row.replay_peak_mb:.0f}",
            f"{row.trace_mb:.1f}",
            f"{row.goal} {verdict}".strip(),
        )
    return shown


def overall(rows: list[Row]) -> list[str]:
    """The goals that all rows share."""
    peak = max(max(row.record_peak_mb, row.replay_peak_mb) for row in rows)
    slower = [row.name for row in rows if row.replay_to_record > 1.0]
    return [
        f"supervisor memory at most {peak:.0f} MB (goal: under {MEMORY_GOAL_MB})",
        f"replay slower than record: {', '.join(slower) or 'nowhere'} (goal: nowhere)",
    ]


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these workloads")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args()


def main() -> None:
    """Measures all workloads and shows the table."""
    options = parse_arguments()
    console = Console(width=None if sys.stdout.isatty() else 170)
    with tempfile.TemporaryDirectory(prefix="pyrr-bench-") as name:
        work = Path(name)
        env = environment(work)
        chosen = [w for w in workloads(work) if not options.only or w.name in options.only]
        if not chosen:
            sys.exit("bench: no such workload")
        rows = []
        for workload in chosen:
            print(f"{workload.name} ...", file=sys.stderr, flush=True)
            rows.append(bench(workload, options.rounds, work, env))
    console.print(table(rows))
    for line in overall(rows):
        console.print(line)
    if options.json:
        write_figures(options.json, options.rounds, rows=[asdict(row) for row in rows])


if __name__ == "__main__":
    main()
