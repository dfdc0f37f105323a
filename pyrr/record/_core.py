# SPDX-License-Identifier: GPL-2.0-or-later
"""Moving a recording to another core when somebody else keeps its own busy."""

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol

TICK_SECONDS = 0.25
"""How often the record loop comes back to Python at least, where signals are seen too."""
LOOK_SECONDS = 1.0
TOO_LONG = 0.25
"""Part of the time spent waiting for the core from which on another one is looked for."""
IDLE_ENOUGH = 0.6
"""Part of the time that another core must have been idle."""


class Movable(Protocol):
    """What a record session offers here."""

    def run_delay(self) -> int:
        """Nanoseconds waited for the core so far."""

    def move(self, cpu: int) -> None:
        """Goes to another core."""


def idle_times(text: str) -> dict[int, float]:
    """Seconds each core has been idle, from the text of /proc/stat (proc_stat(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for line in text.splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name != "cpu":
            found[int(name[3:])] = (int(values[3]) + int(values[4])) / ticks
    return found


class CoreWatch:
    """Looks, once a tick, whether the core is shared with a stranger and another is free."""

    def __init__(self, *, core: int, allowed: Collection[int]) -> None:
        self._core = core
        self.allowed = allowed
        self._due = False
        self._last: tuple[float, int, dict[int, float]] | None = None

    def on_tick(self, _signo: int, _frame: FrameType | None) -> None:
        """The timer's handler: remembers it for `look`."""
        self._due = True

    def look(self, session: Movable) -> None:
        """Compares with the last tick and moves the session where that helps."""
        if not self._due:
            return
        self._due = False
        if self._last is not None and time.monotonic() < self._last[0] + LOOK_SECONDS:
            return
        now = (
            time.monotonic(),
            session.run_delay(),
            idle_times(Path("/proc/stat").read_text(encoding="ascii")),
        )
        last, self._last = self._last, now
        if last is None or now[0] <= last[0]:
            return
        span = now[0] - last[0]
        if (now[1] - last[1]) / 1e9 < TOO_LONG * span:
            return
        idle = {c: now[2].get(c, 0) - last[2].get(c, 0) for c in self.allowed if c != self._core}
        best = max(idle, key=lambda core: idle[core], default=None)
        if best is not None and idle[best] >= IDLE_ENOUGH * span:
            session.move(best)
            self._core = best


@contextmanager
def ticking(watch: CoreWatch) -> Iterator[None]:
    """Interrupts the record loop once a tick.

    A signal that arrives between two waits of the C loop is seen at the next tick only.
    """
    old = signal.signal(signal.SIGALRM, watch.on_tick)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
