# SPDX-License-Identifier: GPL-2.0-or-later
"""A Divergence is shown with the events that led to it."""

from pathlib import Path

import pytest

from pyrr import cli
from pyrr.cli._command import Command
from pyrr.cli.replay import Replay
from pyrr.errors import Divergence
from pyrr.model.events import Event, EventKind, TaskUid
from pyrr.model.fields import TextField
from pyrr.native import TraceWriter
from pyrr.replay import ReplayOptions, ReplayResult

EVENTS = 15


class Diverging:
    """An engine that disagrees with the trace at an event."""

    def __init__(self, event: int) -> None:
        self.event = event

    def __call__(self, options: ReplayOptions) -> ReplayResult:
        diverged = Divergence("replay diverged\n  expected: this", "report it")
        diverged.event = self.event
        raise diverged


@pytest.fixture
def trace(trace_home: Path) -> Path:
    path = trace_home / "prog-0"
    path.mkdir(parents=True)
    with TraceWriter(path) as writer:
        for number in range(1, EVENTS + 1):
            note = TextField(text=f"number {number}")
            task = TaskUid(tid=1, serial=1)
            writer.append(Event(kind=EventKind.NOTE, task=task, fields=(note,)))
    return path


@pytest.mark.parametrize(
    ("event", "shown"), [(12, range(3, 13)), (1, range(1, 2)), (15, range(6, 16)), (0, None)]
)
def test_last_ten_events(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    trace: Path,
    event: int,
    shown: range | None,
) -> None:
    command: Command = Replay(Diverging(event))
    monkeypatch.setattr(cli, "load", lambda _name: command)
    assert cli.main(["replay", "-a", str(trace)]) == 5
    lines = capfd.readouterr().err.splitlines()
    assert lines[:2] == ["pyrr: replay diverged", "  expected: this"]
    assert lines[-1] == "hint: report it"
    events = [f"{n:>6} 1/1       note: number {n}" for n in shown or ()]
    assert lines[2:-1] == (["the recording up to there:", *events] if shown else [])


def test_a_trace_that_cannot_be_read_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], trace: Path
) -> None:
    (trace / "events").write_bytes(b"no longer a trace")
    command: Command = Replay(Diverging(12))
    monkeypatch.setattr(cli, "load", lambda _name: command)
    assert cli.main(["replay", "-a", str(trace)]) == 5
    expected = "pyrr: replay diverged\n  expected: this\nhint: report it\n"
    assert capfd.readouterr().err == expected
