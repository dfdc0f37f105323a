# SPDX-License-Identifier: GPL-2.0-or-later
"""Record and replay sessions of the C core.

A session's `run` comes back with a *Stop*: why a decision of Python's is needed.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, Self

from pyrr.errors import Divergence
from pyrr.native._handle import Handle
from pyrr.native._place import Place, SliceStop, place_from, place_pointer
from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import END, CData, check, error_slot, text
from pyrr.native._trace import TraceReader, TraceWriter

NO_LIMIT = (1 << 64) - 1


class RecordStopKind(IntEnum):
    """enum prr_record_stop_kind."""

    ENDED = 1
    STORE_FILE = 2
    INTERRUPTED = 3
    WARNING = 4


class ReplayStopKind(IntEnum):
    """enum prr_replay_stop_kind."""

    ENDED = 1
    TRUNCATED = 2
    INTERRUPTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStop:
    """Why recording came back.

    `status` is a wait status (ENDED); `path` opens the file
    to store, `name` is the tracee's word for it, sizes are bytes, times ns (STORE_FILE).
    """

    kind: RecordStopKind
    status: int = 0
    path: str = ""
    name: str = ""
    dev: int = 0
    ino: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    cacheable: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStop:
    """Why replay came back.

    `status` is the program's wait status (ENDED), `event` the
    EventIndex last replayed.
    """

    kind: ReplayStopKind
    status: int
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PointStats:
    """What naming places inside user code, or finding them again, took: struct prr_point_stats.

    Times are nanoseconds. `spent_ns` is, when recording, how long tasks stood still for it,
    in replay all of the slices that end at such a place.
    """

    points: int
    counted: int
    candidates: int
    hashed: int
    spent_ns: int
    signals: int
    signal_delay_ns: int
    signal_delay_max_ns: int


def _point_stats(fill: Callable[[CData, CData], None], session: CData) -> PointStats:
    stats: Any = ffi.new("struct prr_point_stats *")
    fill(session, stats)
    return PointStats(**{item.name: int(getattr(stats, item.name)) for item in fields(PointStats)})


def choose_cpu() -> int:
    """The core with the least work among those allowed; -1 where none can be read."""
    return int(lib.prr_choose_cpu())


class _Strings:
    """A NULL-terminated char *[] and what it points to."""

    __slots__ = ("_kept", "array")

    def __init__(self, strings: Sequence[str]) -> None:
        self._kept: list[Any] = [ffi.new("char[]", os.fsencode(item)) for item in strings]
        self.array: Any = ffi.new("char *[]", [*self._kept, ffi.NULL])


class RecordSession:
    """Live tracees being recorded. Belongs to the thread that made it; close it."""

    def __init__(
        self,
        writer: TraceWriter,
        *,
        program: str,
        argv: Sequence[str],
        env: Sequence[str],
        cpu: int,
        slice_ns: int,
        always_switch: bool,
        always_preempt: bool,
        hash_ratio: int,
        point_ratio: int,
    ) -> None:
        """Spawns `program`, stopped at its exec. Raises a PyrrError."""
        self._argv, self._env = _Strings(argv), _Strings(env)
        self._program = ffi.new("char[]", os.fsencode(program))
        self._writer = writer
        self._options: Any = ffi.new("struct prr_record_options *")
        self._options.program = self._program
        self._options.argv = self._argv.array
        self._options.envp = self._env.array
        self._options.cpu = cpu
        self._options.slice_ns = slice_ns
        self._options.always_switch = always_switch
        self._options.always_preempt = always_preempt
        self._options.hash_ratio = hash_ratio
        self._options.point_ratio = point_ratio
        slot = ffi.new("struct prr_record **")
        with error_slot() as error:
            check(lib.prr_record_create(self._options, writer.pointer, slot, error), error)
        self._handle = Handle("a record session", slot[0], lib.prr_record_destroy)

    def run(self) -> RecordStop:
        """Runs the tracees until a decision is needed. Raises a PyrrError."""
        stop = ffi.new("struct prr_record_stop *")
        with error_slot() as error:
            check(lib.prr_record_run(self._handle.pointer, stop, error), error)
        return _record_stop(stop)

    def file_stored(self, store_id: int, content: int) -> None:
        """Answers STORE_FILE; `content` is an open descriptor of the copy."""
        with error_slot() as error:
            status = lib.prr_record_file_stored(self._handle.pointer, store_id, content, error)
            check(status, error)

    def run_delay(self) -> int:
        """Nanoseconds that supervisor and live tasks have waited for their core so far."""
        return int(lib.prr_record_run_delay(self._handle.pointer))

    def move(self, cpu: int) -> None:
        """Moves supervisor and tracees to another core."""
        with error_slot() as error:
            check(lib.prr_record_move(self._handle.pointer, cpu, error), error)

    def end_trace(self) -> None:
        """No more can be written: the program goes on, unrecorded."""
        lib.prr_record_end_trace(self._handle.pointer)

    @property
    def trace_ended(self) -> bool:
        """Whether writing has ended early; the user has been told."""
        return bool(lib.prr_record_trace_ended(self._handle.pointer))

    @property
    def point_stats(self) -> PointStats:
        """What naming places took so far."""
        return _point_stats(lib.prr_record_point_stats, self._handle.pointer)

    def signal_all(self, signo: int) -> None:
        """Sends a signal to every recorded process."""
        lib.prr_record_signal_all(self._handle.pointer, signo)

    def close(self) -> None:
        """Kills what is left of the tracees."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _record_stop(stop: CData) -> RecordStop:
    kind = RecordStopKind(int(stop.kind))
    if kind is not RecordStopKind.STORE_FILE:
        return RecordStop(kind=kind, status=int(stop.status), text=text(stop.text) or "")
    return RecordStop(
        kind=kind,
        path=os.fsdecode(ffi.string(stop.path)),
        name=os.fsdecode(ffi.string(stop.name)),
        dev=int(stop.dev),
        ino=int(stop.ino),
        size=int(stop.size),
        mtime_ns=int(stop.mtime_ns),
        ctime_ns=int(stop.ctime_ns),
        cacheable=bool(stop.cacheable),
    )


class ReplaySession:
    """Live tracees that repeat a trace. Belongs to the thread that made it; close it."""

    def __init__(
        self,
        reader: TraceReader,
        *,
        trace_dir: Path,
        cpu: int,
        check_memory: bool,
        stdout_fd: int,
        stderr_fd: int,
        echo_from: int = 0,
        careful: Sequence[int] = (),
    ) -> None:
        """Makes the first replaying process. -1 as a descriptor: no echo. Raises a PyrrError.

        What events before `echo_from` wrote is not echoed. The places of the PREEMPT events
        `careful` are found without changing code, which is slow.
        """
        self._directory = ffi.new("char[]", os.fsencode(trace_dir.resolve()))
        self._reader = reader
        self._options: Any = ffi.new("struct prr_replay_options *")
        self._options.trace_dir = self._directory
        self._options.cpu = cpu
        self._options.check_memory = check_memory
        self._options.stdout_fd = stdout_fd
        self._options.stderr_fd = stderr_fd
        self._options.echo_from = echo_from
        self._careful = ffi.new("uint64_t[]", sorted(careful))
        self._options.careful = self._careful
        self._options.careful_count = len(careful)
        slot = ffi.new("struct prr_replay **")
        with error_slot() as error:
            check(lib.prr_replay_create(self._options, reader.pointer, slot, error), error)
        self._handle = Handle("a replay session", slot[0], lib.prr_replay_destroy)

    def run(self) -> ReplayStop:
        """Replays to the end of the trace. Raises Divergence or another PyrrError."""
        stop = ffi.new("struct prr_replay_stop *")
        with error_slot() as error:
            try:
                check(lib.prr_replay_run(self._handle.pointer, stop, error), error)
            except Divergence as diverged:
                diverged.event = self.event
                raise
        return ReplayStop(
            kind=ReplayStopKind(int(stop.kind)), status=int(stop.status), event=int(stop.event)
        )

    def run_to(self, event: int) -> bool:
        """Replays all events before `event`; its task stands where its last event left it.

        False: the trace ends before. Raises Divergence or another PyrrError.
        """
        with error_slot() as error:
            try:
                status = check(lib.prr_replay_run_to(self._handle.pointer, event, error), error)
            except Divergence as diverged:
                diverged.event = self.event
                raise
        return status != END

    def run_slice(self, place: Place | None = None, *, limit_ns: int | None = None) -> SliceStop:
        """Runs the task of the event run to on: to `place`, to the event, or for `limit_ns`.

        A place that the task has passed, or never comes to, ends at the event. Where the
        event is a preemption by fingerprint the session is of no further use then. Raises
        UnsupportedSyscall where places cannot be looked for, InternalError for a place of
        another slice.
        """
        pointer = ffi.NULL if place is None else place_pointer(place.data)
        stop = ffi.new("uint32_t *")
        limit = NO_LIMIT if limit_ns is None else limit_ns
        with error_slot() as error:
            status = lib.prr_replay_run_slice(self._handle.pointer, pointer, limit, stop, error)
            check(status, error)
        return SliceStop(int(stop[0]))

    def name_place(self) -> Place | None:
        """Goes on by some 32 instructions and names where that ends.

        None: so near to the event no place can be named.
        """
        slot = ffi.new("struct prr_place **")
        with error_slot() as error:
            check(lib.prr_replay_name_place(self._handle.pointer, slot, error), error)
        return None if slot[0] == ffi.NULL else place_from(slot[0])

    def is_at(self, place: Place) -> bool:
        """Whether the session stands at a place of its slice."""
        answer = ffi.new("bool *")
        with error_slot() as error:
            status = lib.prr_replay_is_at_place(
                self._handle.pointer, place_pointer(place.data), answer, error
            )
            check(status, error)
        return bool(answer[0])

    @property
    def missed(self) -> int:
        """EventIndex of a place that was missed and may be found with care; 0: none."""
        return int(lib.prr_replay_missed(self._handle.pointer))

    @property
    def point_stats(self) -> PointStats:
        """What finding places took so far."""
        return _point_stats(lib.prr_replay_point_stats, self._handle.pointer)

    @property
    def event(self) -> int:
        """EventIndex of the event being replayed, or last replayed."""
        return int(lib.prr_replay_event(self._handle.pointer))

    def close(self) -> None:
        """Ends the replaying processes."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
