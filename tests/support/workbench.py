# SPDX-License-Identifier: GPL-2.0-or-later
"""One program under test: bare, recorded, then replayed with all that it used gone."""

import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.running import (
    PROJECT,
    Outcome,
    difference,
    record_command,
    replay_command,
    run,
)


def _nothing(_directory: Path) -> None:
    """A program that needs no input files."""


@dataclass(kw_only=True)
class Workbench:
    """Directories and commands of one test.

    `home` gets bin/ (the program), work/ (its current directory, made anew by `inputs` for
    each run) and trace/.
    """

    home: Path
    command: Sequence[str | Path]
    status: int | None = 0
    """The status that each run must have; None: any."""
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    inputs: Callable[[Path], None] = _nothing
    normalise: Callable[[bytes], bytes] = bytes
    """Takes away what the program itself makes different in each run; the caller says why."""

    @property
    def work(self) -> Path:
        """The current directory of the program."""
        return self.home / "work"

    @property
    def bin(self) -> Path:
        """Where the program lies."""
        return self.home / "bin"

    @property
    def trace(self) -> Path:
        """Where the recording goes."""
        return self.home / "trace"

    def _fresh_work(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.inputs(self.work)

    def _environment(self) -> dict[str, str]:
        return {
            **self.env,
            "PYRR_TRACE_DIR": str(self.home / "traces"),
            "TMPDIR": str(self.work),
        }

    def _run(self, command: Sequence[str | Path], cwd: Path) -> Outcome:
        return run(
            command, cwd=cwd, stdin=self.stdin, env=self._environment(), timeout=self.timeout
        )

    def bare(self) -> Outcome:
        """Runs the program without pyrr and checks its status."""
        self._fresh_work()
        outcome = self._run(self.command, self.work)
        self._check_status("bare", outcome)
        return outcome

    def record(self, *options: str) -> Outcome:
        """Records the program and checks its status."""
        self._fresh_work()
        outcome = self._run(record_command(self.trace, self.command, options), self.work)
        self._check_status("record", outcome)
        return outcome

    def assert_same(self, name: str, wanted: Outcome, got: Outcome) -> None:
        """Both outcomes are the same, after normalising."""
        left, right = (
            Outcome(
                stdout=self.normalise(o.stdout), stderr=self.normalise(o.stderr), status=o.status
            )
            for o in (wanted, got)
        )
        if problem := difference(name, left, right):
            raise AssertionError(problem + self._advice())

    def remove_inputs(self) -> None:
        """Takes away the program, its directory and all that it read or wrote there."""
        shutil.rmtree(self.bin, ignore_errors=True)
        shutil.rmtree(self.work, ignore_errors=True)

    def replay(self, recorded: Outcome, times: int, *options: str) -> None:
        """Replays; stdout, stderr and status must be the recording's, byte for byte."""
        elsewhere = self.home / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        for number in range(1, times + 1):
            outcome = run(
                replay_command(self.trace, options),
                cwd=elsewhere,
                env=self._environment(),
                timeout=self.timeout,
            )
            if problem := difference(f"replay {number}", recorded, outcome):
                raise AssertionError(problem + self._advice())
        assert not list(elsewhere.iterdir()), "the replay left files behind"

    def clean(self) -> None:
        """Removes everything; only called when all went well."""
        shutil.rmtree(self.home, ignore_errors=True)

    def _check_status(self, name: str, outcome: Outcome) -> None:
        if self.status is not None and outcome.status != self.status:
            wanted = Outcome(stdout=outcome.stdout, stderr=outcome.stderr, status=self.status)
            raise AssertionError(f"{difference(name, wanted, outcome)}{self._advice()}")

    def _advice(self) -> str:
        return (
            f"\n  program: {shlex.join(map(str, self.command))}"
            f"\n  the trace is kept: PYTHONPATH={PROJECT} "
            f"{shlex.join(map(str, replay_command(self.trace)))}"
        )
