# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs programs bare, recorded and replayed, and ends only what it started."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PYRR = (sys.executable, "-m", "pyrr")
MARK = "PYRR_TEST_RUN"
"""Each run's processes carry a unique value of this variable, by which they are found."""
PROJECT = Path(__file__).resolve().parent.parent.parent
HIDDEN = ("PYRR_RUNNING", "PYRR_TRACE_DIR", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")


class RunTimeoutError(AssertionError):
    """A run did not end in time; it has been killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a finished run showed to the world."""

    stdout: bytes
    stderr: bytes
    status: int
    """As a shell shows it: 128+N for signal N."""


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of runs: this one, plain and in English."""
    plain = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    plain["PYTHONPATH"] = str(PROJECT)
    plain["PYTHONDONTWRITEBYTECODE"] = "1"
    plain["LC_ALL"] = "C"
    return {**plain, **extra}


def shell_status(returncode: int) -> int:
    """A subprocess return code as a shell shows it."""
    return 128 - returncode if returncode < 0 else returncode


def marked(mark: str) -> list[int]:
    """The processes that carry this mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def kill_marked(mark: str) -> None:
    """Kills what carries this mark, until nothing does."""
    for _ in range(20):
        pids = marked(mark)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Run:
    """A started command; `finish` waits for it and all that hold its output open."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        cwd: Path,
        stdin: bytes = b"",
        env: Mapping[str, str] = {},
        stdout: int | IO[bytes] = subprocess.PIPE,
    ) -> None:
        self.command = [str(word) for word in command]
        self.mark = uuid.uuid4().hex
        self._stdin = stdin
        self.process = subprocess.Popen(
            self.command,
            cwd=cwd,
            env={**environment(env), MARK: self.mark},
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            process_group=0,
        )

    def kill(self) -> None:
        """Kills the command and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        kill_marked(self.mark)

    def finish(self, timeout: float) -> Outcome:
        """The outcome. Raises RunTimeoutError, with everything killed, after `timeout` seconds."""
        try:
            stdout, stderr = self.process.communicate(self._stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            stdout, stderr = self.process.communicate()
            raise RunTimeoutError(
                f"not finished after {timeout} s: {shlex.join(self.command)}\n"
                f"stdout so far: {_tail(stdout)}\nstderr so far: {_tail(stderr)}"
            ) from None
        return Outcome(
            stdout=stdout or b"", stderr=stderr, status=shell_status(self.process.returncode)
        )


def _tail(data: bytes | None, limit: int = 2000) -> str:
    return (data or b"")[-limit:].decode(errors="replace")


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] = {},
    timeout: float = 60.0,
) -> Outcome:
    """Runs a command to its end."""
    return Run(command, cwd=cwd, stdin=stdin, env=env).finish(timeout)


def record_command(
    trace: Path, command: Sequence[str | Path], options: Sequence[str] = ()
) -> list[str | Path]:
    """The words of `pyrr record`."""
    return [*PYRR, "record", *options, "-o", trace, "--", *command]


def replay_command(trace: Path, options: Sequence[str] = ()) -> list[str | Path]:
    """The words of `pyrr replay -a`."""
    return [*PYRR, "replay", *options, "-a", trace]


def difference(name: str, wanted: Outcome, got: Outcome) -> str | None:
    """How an outcome differs from the wanted one; None if it does not."""
    parts = []
    if wanted.status != got.status:
        parts.append(f"status {got.status}, not {wanted.status}")
    for stream in ("stdout", "stderr"):
        left, right = getattr(wanted, stream), getattr(got, stream)
        if left != right:
            parts.append(_first_difference(stream, left, right))
    if not parts:
        return None
    return f"{name}: " + "\n  ".join(parts) + f"\n  its stderr: {_tail(got.stderr)}"


def _first_difference(stream: str, wanted: bytes, got: bytes) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b),
        min(len(wanted), len(got)),
    )
    start = max(0, at - 30)
    return (
        f"{stream} ({len(got)} bytes, wanted {len(wanted)}) differs at byte {at}:"
        f" {got[start : at + 50]!r}, wanted {wanted[start : at + 50]!r}"
    )
