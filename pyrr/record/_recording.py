# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording from its first process to its last."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import assert_never

from pyrr.engine.clock import Wish, choose
from pyrr.engine.status import exit_code_of
from pyrr.errors import EnvironmentUnsupported, SystemFailure
from pyrr.native import (
    PointStats,
    RecordSession,
    RecordStop,
    RecordStopKind,
    TraceWriter,
    choose_cpu,
)
from pyrr.record._core import CoreWatch, ticking
from pyrr.record._header import header_for
from pyrr.record._program import resolve
from pyrr.trace.cache import FileIdentity
from pyrr.trace.filestore import FileStore, user_cache
from pyrr.trace.format import write_header

SLICE_NS = 50_000_000
POINT_RATIO = 20
"""Naming places inside user code takes at most this part (1/POINT_RATIO) of the time."""
HASH_RATIO = 50
"""Page hashes take at most this part (1/HASH_RATIO) of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What to record.

    `env` overrides the caller's environment; `switch` is "share" (another task runs after a
    fair share), "always" (after every event) or "preempt" (after a fair share, at the end of
    which a task is stopped inside user code even if no other one waits); `cpu` the core to
    run on, None: the least busy one. A fair share is `slice_ns`; naming the places inside
    user code where tasks are stopped takes at most 1/`point_ratio` of the time (0: any, as
    with "preempt"). Page
    hashes, for replay's check of memory, take at most 1/`hash_ratio` of the time; 0: none
    are written. `clock` is what shall name the places inside user code.
    """

    argv: tuple[str, ...]
    trace_dir: Path
    env: Mapping[str, str] = field(default_factory=dict)
    switch: str = "share"
    cpu: int | None = None
    hash_ratio: int = HASH_RATIO
    slice_ns: int = SLICE_NS
    point_ratio: int = POINT_RATIO
    clock: Wish = Wish.AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    """`exit_code` as a shell shows it: 128+N for signal N; `points`: naming places."""

    exit_code: int
    trace_dir: Path
    points: PointStats | None = None


class _Interrupts:
    """Signals to pyrr itself.

    SIGINT and SIGQUIT come from the terminal, which sends them to the program as well: the
    program decides. SIGTERM and SIGHUP are passed on to it; a second one ends it.
    """

    def __init__(self) -> None:
        self.pending: list[int] = []
        self.seen = 0

    def on_end(self, signo: int, _frame: FrameType | None) -> None:
        """Remembers it for the loop."""
        self.pending.append(signo)

    def on_terminal(self, _signo: int, _frame: FrameType | None) -> None:
        """Nothing: the program has it too."""


@contextmanager
def _signals(interrupts: _Interrupts) -> Iterator[None]:
    wanted = {
        signal.SIGINT: interrupts.on_terminal,
        signal.SIGQUIT: interrupts.on_terminal,
        signal.SIGTERM: interrupts.on_end,
        signal.SIGHUP: interrupts.on_end,
    }
    # A signal that is ignored stays ignored (nohup).
    taken = {s: h for s, h in wanted.items() if signal.getsignal(s) is not signal.SIG_IGN}
    old = {signo: signal.signal(signo, handler) for signo, handler in taken.items()}
    try:
        yield
    finally:
        for signo, handler in old.items():
            signal.signal(signo, handler)


def record(options: RecordOptions) -> RecordResult:
    """Runs and records a program tree to its end. Raises a PyrrError."""
    env = {**os.environ, **options.env}
    program = resolve(options.argv[0], env.get("PATH", os.defpath))
    cpu = choose_cpu() if options.cpu is None else options.cpu
    if cpu < 0:
        raise EnvironmentUnsupported("no core to run on can be chosen", "pyrr doctor")
    pairs = [f"{name}={value}" for name, value in env.items()]
    header = header_for(
        program=program,
        argv=options.argv,
        env=pairs,
        core=cpu,
        clock=choose(options.clock, core=cpu),
    )
    write_header(options.trace_dir, header)
    store = FileStore(options.trace_dir, user_cache())
    interrupts = _Interrupts()
    watch = CoreWatch(core=cpu, allowed=os.sched_getaffinity(0))
    status: int | None = None
    told = False
    points: PointStats | None = None
    try:
        with (
            TraceWriter(options.trace_dir) as writer,
            _signals(interrupts),
            ticking(watch),
            RecordSession(
                writer,
                program=program,
                argv=options.argv,
                env=pairs,
                cpu=cpu,
                slice_ns=options.slice_ns,
                always_switch=options.switch == "always",
                always_preempt=options.switch == "preempt",
                hash_ratio=options.hash_ratio,
                point_ratio=0 if options.switch == "preempt" else options.point_ratio,
            ) as session,
        ):
            status = _drive(session, store, interrupts, watch)
            told = session.trace_ended
            points = session.point_stats
    except SystemFailure as failed:
        if status is None:
            raise
        # The disk is full; the program has ended as it would.
        if not told:
            _trace_ends(failed)
    return RecordResult(exit_code=exit_code_of(status), trace_dir=options.trace_dir, points=points)


def _drive(
    session: RecordSession, store: FileStore, interrupts: _Interrupts, watch: CoreWatch
) -> int:
    while True:
        stop = session.run()
        match stop.kind:
            case RecordStopKind.ENDED:
                return stop.status
            case RecordStopKind.STORE_FILE:
                _store(session, store, stop)
            case RecordStopKind.INTERRUPTED:
                _pass_on(session, interrupts)
                watch.look(session)
            case RecordStopKind.WARNING:
                print(f"pyrr: {stop.text}", file=sys.stderr)
            case _:
                assert_never(stop.kind)


def _pass_on(session: RecordSession, interrupts: _Interrupts) -> None:
    while interrupts.pending:
        signo = interrupts.pending.pop(0)
        session.signal_all(signo if interrupts.seen == 0 else signal.SIGKILL)
        interrupts.seen += 1


def _trace_ends(failed: SystemFailure) -> None:
    print(f"pyrr: the trace ends early: {failed.message}", file=sys.stderr)
    if failed.remedy:
        print(f"hint: {failed.remedy}", file=sys.stderr)


def _store(session: RecordSession, store: FileStore, stop: RecordStop) -> None:
    identity = FileIdentity(
        dev=stop.dev, ino=stop.ino, size=stop.size, mtime_ns=stop.mtime_ns, ctime_ns=stop.ctime_ns
    )
    try:
        store_id = store.add(Path(stop.path), identity, cacheable=stop.cacheable, name=stop.name)
    except SystemFailure as failed:
        # A full disk ends the trace, not the program.
        _trace_ends(failed)
        session.end_trace()
        return
    with store.path(store_id).open("rb") as content:
        session.file_stored(store_id, content.fileno())
