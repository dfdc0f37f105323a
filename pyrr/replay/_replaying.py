# SPDX-License-Identifier: GPL-2.0-or-later
"""One replay from the first event to the last."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pyrr.engine.cpu import this_cpu
from pyrr.engine.status import exit_code_of
from pyrr.errors import Divergence, EnvironmentUnsupported, TraceError
from pyrr.native import PointStats, ReplaySession, ReplayStopKind, choose_cpu
from pyrr.trace.reader import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What to replay.

    `check` is "registers" or "memory" (page hashes too); the
    descriptors get the recording's stdout and stderr, -1: nothing does.
    """

    trace_dir: Path
    check: str = "registers"
    stdout_fd: int = 1
    stderr_fd: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """`exit_code` is the recorded program's, as a shell shows it; `points`: finding places."""

    exit_code: int
    event_count: int
    points: PointStats | None = None


def core_for(recorded: int) -> int:
    """The core to replay on: the recorded one where it is allowed.

    Raises EnvironmentUnsupported where none can be chosen.
    """
    allowed = os.sched_getaffinity(0)
    cpu = recorded if recorded in allowed else choose_cpu()
    if cpu < 0:
        raise EnvironmentUnsupported("no core to run on can be chosen", "pyrr doctor")
    return cpu


def replay(options: ReplayOptions) -> ReplayResult:
    """Replays a trace to its end. Raises TraceError, Divergence or another PyrrError.

    A trace that ends early is replayed up to there, then a TraceError says why it ends.
    """
    here = this_cpu()
    trace = Trace.open(options.trace_dir, cpu=here)
    sys.stdout.flush()
    sys.stderr.flush()
    careful: list[int] = []
    while True:
        try:
            return _once(options, trace, careful)
        except _MissedError as missed:
            # The program looked at its own code, or wrote it, where a probe stood.
            if missed.event in careful:
                raise missed.why from None
            careful.append(missed.event)


class _MissedError(Exception):
    """The place of event `event` was missed by a probe that changes code."""

    def __init__(self, event: int, why: Divergence) -> None:
        super().__init__(str(why))
        self.event, self.why = event, why


def _once(options: ReplayOptions, trace: Trace, careful: list[int]) -> ReplayResult:
    """One session from the first event to the last; `careful`: places to be found with care."""
    with (
        trace.reader() as reader,
        ReplaySession(
            reader,
            trace_dir=trace.path,
            cpu=core_for(trace.header.core),
            check_memory=options.check == "memory",
            stdout_fd=options.stdout_fd,
            stderr_fd=options.stderr_fd,
            echo_from=careful[-1] if careful else 0,
            careful=careful,
        ) as session,
    ):
        try:
            stop = session.run()
        except Divergence as diverged:
            if session.missed:
                raise _MissedError(session.missed, diverged) from None
            raise
        points = session.point_stats
        if stop.kind is ReplayStopKind.TRUNCATED:
            why = reader.end_reason or "it ends there"
            raise TraceError(
                f"the trace is replayed up to event {stop.event}, where it ends early: {why}",
                f"pyrr dump {stop.event} shows the last event",
            )
    return ReplayResult(exit_code=exit_code_of(stop.status), event_count=stop.event, points=points)
