# SPDX-License-Identifier: GPL-2.0-or-later
"""One replay from the first event to the last."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pyrr.engine.cpu import this_cpu
from pyrr.engine.status import exit_code_of
from pyrr.errors import EnvironmentUnsupported, TraceError
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


def _choose_cpu(recorded: int) -> int:
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
    with (
        trace.reader() as reader,
        ReplaySession(
            reader,
            trace_dir=trace.path,
            cpu=_choose_cpu(trace.header.core),
            check_memory=options.check == "memory",
            stdout_fd=options.stdout_fd,
            stderr_fd=options.stderr_fd,
        ) as session,
    ):
        stop = session.run()
        points = session.point_stats
        if stop.kind is ReplayStopKind.TRUNCATED:
            why = reader.end_reason or "it ends there"
            raise TraceError(
                f"the trace is replayed up to event {stop.event}, where it ends early: {why}",
                f"pyrr dump {stop.event} shows the last event",
            )
    return ReplayResult(exit_code=exit_code_of(stop.status), event_count=stop.event, points=points)
