# SPDX-License-Identifier: GPL-2.0-or-later
"""The processes of a recording, gathered from events."""

from pyrr.cli import _processes, _table
from pyrr.model import fields
from pyrr.model.events import Event, EventKind, Field, TaskUid


def event(tid: int, serial: int, *what: Field, kind: EventKind = EventKind.SYSCALL) -> Event:
    return Event(kind=kind, task=TaskUid(tid=tid, serial=serial), fields=what)


def new(tid: int, serial: int, group: int, parent: int) -> fields.NewTaskField:
    return fields.NewTaskField(
        tid=tid, serial=serial, ns_tid=tid, as_uid=1, group=group, parent=parent
    )


SHELL = (
    fields.ExecField(as_uid=1, old_tid=100, path=b"/bin/sh"),
    fields.ArgvField(argv=(b"sh", b"-c", b"a b")),
)


def test_tree_with_threads_forks_and_signals() -> None:
    found = _processes.gather(
        [
            event(100, 1, *SHELL),
            event(100, 1, new(101, 2, 2, 1)),
            event(101, 2, new(102, 3, 2, 2)),  # a thread of the child
            event(102, 3, new(103, 4, 4, 3)),  # a process made by that thread
            event(103, 4, fields.ArgvField(argv=(b"true",)), fields.ExecField(as_uid=9, old_tid=3)),
            event(103, 4, fields.ExitField(status=0, group_exit=1), kind=EventKind.EXIT),
            event(102, 3, fields.ExitField(status=0), kind=EventKind.EXIT),
            event(101, 2, fields.ExitField(status=9, group_exit=1), kind=EventKind.EXIT),
            event(0, 0, kind=EventKind.TRACE_END),
        ]
    )
    assert [(p.pid, p.parent_pid, p.status) for p in found] == [
        (100, None, None),
        (101, 100, 9),
        (103, 101, 0),
    ]
    assert [p.command() for p in found] == [
        "sh -c 'a b'",
        "sh -c 'a b' (forked, no exec)",
        "true",
    ]


def test_table_is_aligned() -> None:
    assert _table.plain(("PID", "CMD"), [("1", "a b"), ("12345", "")]) == (
        "PID    CMD\n1      a b\n12345"
    )
