# SPDX-License-Identifier: GPL-2.0-or-later
"""What all tests share: a trace directory of their own, and a way to run `pyrr`."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 120

# Ignored signals stay ignored in all that is started: nohup, or a shell's background job,
# would make other programs of the tests' programs.
for _number, _default in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _default)

RunPyrr = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def trace_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory for traces, also for programs that the test starts."""
    home = tmp_path / "traces"
    monkeypatch.setenv("PYRR_TRACE_DIR", str(home))
    monkeypatch.delenv("PYRR_RUNNING", raising=False)
    return home


@pytest.fixture
def run_pyrr(trace_home: Path, tmp_path: Path) -> RunPyrr:
    """Runs the real `pyrr` in tmp_path and returns the finished process."""

    def run(
        *arguments: str | Path,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
        timeout: float = PATIENCE_SECONDS,
    ) -> subprocess.CompletedProcess[bytes]:
        command: Sequence[str | Path] = [sys.executable, "-m", "pyrr", *arguments]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=timeout,
        )

    return run
