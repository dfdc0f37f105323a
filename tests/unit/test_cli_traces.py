# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces as commands see them: the `latest` link while recording, listings."""

import os
from pathlib import Path

import pytest

from pyrr.cli import _traces
from pyrr.trace import directory


def make_trace(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "trace.json").write_text("{}")
    return path


def test_latest_goes_back_when_nothing_was_recorded(trace_home: Path) -> None:
    first = make_trace(trace_home / "first-0")
    with _traces.latest_is(trace_home, first):
        pass
    with pytest.raises(RuntimeError), _traces.latest_is(trace_home, trace_home / "second-0"):
        raise RuntimeError
    assert directory.find_trace(None, trace_home) == first


def test_latest_stays_when_the_recording_broke_off(trace_home: Path) -> None:
    trace = trace_home / "broken-0"

    def break_off() -> None:
        with _traces.latest_is(trace_home, trace):
            make_trace(trace)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert directory.find_trace(None, trace_home) == trace


def test_a_home_that_cannot_be_written_costs_only_the_link(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with _traces.latest_is(tmp_path / "file", make_trace(tmp_path / "t")):
        pass


def test_damaged_traces_are_listed(trace_home: Path) -> None:
    trace = make_trace(trace_home / "a-0")
    os.utime(trace / "trace.json", (7, 7))
    (each,) = _traces.listed()
    assert (each.path, each.header, each.start, each.duration_ns) == (trace, None, 7, None)
