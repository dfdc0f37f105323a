# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr record`, `replay` and `rm` over an engine that only pretends."""

from pathlib import Path

import pytest

from pyrr import cli, errors
from pyrr.cli._command import Command
from pyrr.cli.record import Record
from pyrr.cli.replay import Replay
from pyrr.cli.rm import Rm
from pyrr.engine.clock import Wish
from pyrr.model.events import Event, EventKind, TaskUid
from pyrr.native import TraceWriter
from pyrr.record import RecordOptions, RecordResult
from pyrr.replay import ReplayOptions, ReplayResult


class FakeRecorder:
    """Leaves a trace, or raises before or after it did."""

    def __init__(
        self, code: int = 0, error: errors.PyrrError | None = None, *, begun: bool = True
    ) -> None:
        self.code = code
        self.error = error
        self.begun = begun
        self.options: RecordOptions | None = None

    def __call__(self, options: RecordOptions) -> RecordResult:
        self.options = options
        if self.begun:
            with TraceWriter(options.trace_dir) as writer:
                writer.append(Event(kind=EventKind.NOTE, task=TaskUid(tid=1, serial=1)))
        if self.error:
            raise self.error
        return RecordResult(exit_code=self.code, trace_dir=options.trace_dir)


class FakeReplayer:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.options: ReplayOptions | None = None

    def __call__(self, options: ReplayOptions) -> ReplayResult:
        self.options = options
        return ReplayResult(exit_code=9, event_count=1)


@pytest.fixture
def recorder(trace_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRecorder:
    fake = FakeRecorder()
    known: dict[str, Command] = {
        "record": Record(fake),
        "replay": Replay(FakeReplayer()),
        "rm": Rm(),
    }
    monkeypatch.setattr(cli, "load", known.__getitem__)
    return fake


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_exit_status_is_the_programs(recorder: FakeRecorder, trace_home: Path) -> None:
    recorder.code = 139
    assert cli.main(["record", "prog", "-x", "--", "-o", "y"]) == 139
    assert recorder.options is not None
    assert recorder.options.argv == ("prog", "-x", "--", "-o", "y")
    assert recorder.options.trace_dir == trace_home / "prog-0"
    assert (trace_home / "latest").readlink() == Path("prog-0")


def test_options(recorder: FakeRecorder, tmp_path: Path) -> None:
    chosen = tmp_path / "here"
    words = ["--env", "A=1=2", "--env", "B=", "--switch", "always", "-o", str(chosen)]
    assert cli.main(["record", *words, "--", "-odd"]) == 0
    assert recorder.options is not None
    assert recorder.options.argv == ("-odd",)
    assert recorder.options.trace_dir == chosen
    env = dict(recorder.options.env)
    assert (env["A"], env["B"], env["PYRR_RUNNING"]) == ("1=2", "", "1")
    assert recorder.options.switch == "always"


@pytest.mark.parametrize(("words", "wish"), [([], Wish.AUTO), (["--clock=probe"], Wish.PROBE)])
def test_clock(recorder: FakeRecorder, words: list[str], wish: Wish) -> None:
    assert cli.main(["record", *words, "prog"]) == 0
    assert recorder.options is not None
    assert recorder.options.clock is wish


def test_bare_program_is_recorded(recorder: FakeRecorder) -> None:
    assert cli.main(["./prog", "--version"]) == 0
    assert recorder.options is not None
    assert recorder.options.argv == ("./prog", "--version")


def test_success_says_nothing(recorder: FakeRecorder, capfd: pytest.CaptureFixture[str]) -> None:
    cli.main(["record", "prog"])
    assert capfd.readouterr() == ("", "")
    cli.main(["record", "-v", "prog"])
    assert "recorded to" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ProgramNotFound("nope: no such program"), 127),
        (errors.ProgramNotExecutable("x: not executable"), 126),
        (errors.EnvironmentUnsupported("ptrace is forbidden", "pyrr doctor"), 125),
        (errors.InternalError("oops"), 125),
    ],
)
def test_failures_before_the_program_ran_leave_nothing(
    recorder: FakeRecorder, trace_home: Path, error: errors.PyrrError, code: int
) -> None:
    cli.main(["record", "first"])
    recorder.error = error
    recorder.begun = False
    assert cli.main(["record", "second"]) == code
    assert names_in(trace_home) == ["first-0", "latest"]
    assert (trace_home / "latest").readlink() == Path("first-0")


def test_failure_later_keeps_the_trace(recorder: FakeRecorder, trace_home: Path) -> None:
    recorder.error = errors.SystemFailure("the disk is full")
    assert cli.main(["record", "prog"]) == 125
    assert (trace_home / "prog-0").is_dir()
    assert (trace_home / "latest").readlink() == Path("prog-0")


@pytest.mark.parametrize(
    "words",
    [
        ["record"],
        ["record", "--env", "X", "prog"],
        ["record", "--switch", "no", "p"],
        ["record", "--clock", "sun", "p"],
    ],
)
def test_usage_errors_are_pyrrs_failures(
    recorder: FakeRecorder, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 125
    assert "hint: pyrr record --help" in capsys.readouterr().err
    assert recorder.options is None


def test_pyrr_inside_pyrr_is_refused(
    recorder: FakeRecorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYRR_RUNNING", "1")
    assert cli.main(["record", "prog"]) == 125
    assert "itself being recorded" in capsys.readouterr().err
    assert recorder.options is None


def test_replay_takes_the_latest(recorder: FakeRecorder, trace_home: Path) -> None:
    cli.main(["record", "prog"])
    fake = FakeReplayer()
    command = Replay(fake)
    options = command.parser().parse_args(["-a", "--check=memory"])
    assert command.run(options) == 9
    assert fake.options == ReplayOptions(
        trace_dir=trace_home / "prog-0", check="memory", stdout_fd=1, stderr_fd=2
    )


def test_replay_wants_a(recorder: FakeRecorder, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay"]) == 2
    assert "hint: pyrr replay -a" in capsys.readouterr().err


def test_rm(recorder: FakeRecorder, trace_home: Path) -> None:
    cli.main(["record", "a"])
    cli.main(["record", "b"])
    assert cli.main(["rm", "b-0", "nope"]) == 4  # none is deleted
    assert (trace_home / "b-0").exists()
    assert cli.main(["rm", "-f", "b-0", "nope"]) == 0
    assert names_in(trace_home) == ["a-0"]  # latest pointed to b-0
    assert cli.main(["rm", "-f", str(trace_home)]) == 4  # a directory, but not a trace
    assert cli.main(["rm", "a-0"]) == 0
