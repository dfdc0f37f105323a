# SPDX-License-Identifier: GPL-2.0-or-later
"""The processes of a recording, gathered from its events."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyrr.cli._format import printable
from pyrr.model import fields
from pyrr.model.events import Event, EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One ThreadGroup. `status` is its wait status, None where the trace does not say."""

    pid: int
    parent_pid: int | None
    status: int | None = None
    argv: tuple[bytes, ...] = ()
    has_exec: bool = False

    def command(self) -> str:
        """What it ran; a process that never called exec shows what it was a copy of."""
        words = [argument.decode("utf-8", "backslashreplace") for argument in self.argv]
        line = printable(shlex.join(words))
        if self.has_exec:
            return line
        return f"{line} (forked, no exec)".lstrip()


class Gatherer:
    """Takes the events in order; `processes` is then what they tell."""

    def __init__(self) -> None:
        self._by_leader: dict[int, Process] = {}
        self._leader_of: dict[int, int] = {}

    def take(self, event: Event) -> None:
        """Notes what an event says about processes."""
        if event.kind in {EventKind.TRACE_END, EventKind.NOTE}:
            return
        leader = self._leader(event)
        for field in event.fields:
            match field:
                case fields.NewTaskField():
                    self._new_task(field, leader)
                case fields.ExecField():
                    self._change(leader, has_exec=True)
                case fields.ArgvField():
                    self._change(leader, argv=field.argv)
                case fields.ExitField():
                    self._exit(event, field, leader)
                case _:
                    pass

    def processes(self) -> tuple[Process, ...]:
        """All of them, in the order in which they came into being."""
        return tuple(self._by_leader.values())

    def _leader(self, event: Event) -> int:
        """The serial of the event's process; unknown tasks are the first of their own."""
        serial = event.task.serial
        if serial not in self._leader_of:
            self._leader_of[serial] = serial
            self._by_leader[serial] = Process(pid=event.task.tid, parent_pid=None)
        return self._leader_of[serial]

    def _new_task(self, field: fields.NewTaskField, creator: int) -> None:
        self._leader_of[field.serial] = field.group
        if field.group != field.serial:
            return
        parent = self._by_leader.get(self._leader_of.get(field.parent, creator))
        self._by_leader[field.serial] = Process(
            pid=field.tid,
            parent_pid=parent.pid if parent else None,
            argv=parent.argv if parent else (),
        )

    def _exit(self, event: Event, field: fields.ExitField, leader: int) -> None:
        if field.group_exit or event.task.serial == leader:
            self._change(leader, status=field.status)

    def _change(self, leader: int, **what: object) -> None:
        self._by_leader[leader] = replace(self._by_leader[leader], **what)  # type: ignore[arg-type]


def gather(events: Iterable[Event]) -> tuple[Process, ...]:
    """The processes of a recording, oldest first."""
    gatherer = Gatherer()
    for event in events:
        gatherer.take(event)
    return gatherer.processes()
