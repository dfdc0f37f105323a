# SPDX-License-Identifier: GPL-2.0-or-later
"""Moving to another core: decided from numbers, so tested with numbers."""

import time
from pathlib import Path

import pytest

from pyrr.record._core import CoreWatch, idle_times

STAT = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 0 {0} 0 0 0 0\ncpu1 1 0 0 {1} 0 0 0 0\nintr 5\n"


class Session:
    """Answers with a scripted delay; remembers moves."""

    def __init__(self) -> None:
        self.delay = 0
        self.moves: list[int] = []

    def run_delay(self) -> int:
        return self.delay

    def move(self, cpu: int) -> None:
        self.moves.append(cpu)


def looks(monkeypatch: pytest.MonkeyPatch, delay_ns: int, idle_ticks: int) -> list[int]:
    """Two looks a second apart: waited `delay_ns`, core 1 idle for `idle_ticks`."""
    session = Session()
    watch = CoreWatch(core=0, allowed={0, 1})
    clock = iter((10.0, 11.0, 11.0))
    texts = iter((STAT.format(0, 0), STAT.format(0, idle_ticks)))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: next(texts))
    for delay in (0, delay_ns):
        session.delay = delay
        watch.on_tick(14, None)
        watch.look(session)
    return session.moves


def test_idle_times_of_each_core() -> None:
    assert set(idle_times(STAT.format(100, 200))) == {0, 1}


def test_moves_when_made_to_wait_and_another_core_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, 500_000_000, 90) == [1]


def test_stays_when_not_made_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, 100_000_000, 90) == []


def test_stays_when_the_other_core_is_busy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, 500_000_000, 30) == []


def test_looks_only_when_the_timer_fired() -> None:
    session = Session()
    CoreWatch(core=0, allowed={0, 1}).look(session)
    assert session.moves == []
