# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one command and measures it: time, and what the first process alone used; writes figures."""

import json
import os
import platform
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.02
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one run: wall-clock time; memory and CPU time of the first process alone."""

    seconds: float
    peak_kib: int
    own_cpu_seconds: float
    status: int


class _Watcher(threading.Thread):
    """Reads the first process's peak memory and CPU time until it ends.

    The kernel's own figure at the end (rusage) would include its children's, and those of
    a recording are the recorded program.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._proc = Path(f"/proc/{pid}")
        self._done = threading.Event()
        self.peak_kib = 0
        self.cpu_ticks = 0

    def run(self) -> None:
        """Samples until told to stop."""
        while not self._done.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        try:
            status = (self._proc / "status").read_text()
            fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.peak_kib = max(self.peak_kib, int(line.split()[1]))
        self.cpu_ticks = max(self.cpu_ticks, int(fields[11]) + int(fields[12]))

    def stop(self) -> None:
        """Ends the sampling."""
        self._done.set()
        self.join()


def measure(command: Sequence[str | Path], cwd: Path, env: dict[str, str]) -> Measured:
    """One run, its output thrown away."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    watcher = _Watcher(process.pid)
    watcher.start()
    status = process.wait()
    seconds = time.perf_counter() - began
    watcher.stop()
    return Measured(
        seconds=seconds,
        peak_kib=watcher.peak_kib,
        own_cpu_seconds=watcher.cpu_ticks / TICKS,
        status=status,
    )


def write_figures(path: Path, rounds: int, **figures: Sequence[Mapping[str, object]]) -> None:
    """Writes a benchmark's figures as JSON, with facts of the machine they are from."""
    facts = {
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "rounds": rounds,
        **figures,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
