# SPDX-License-Identifier: GPL-2.0-or-later
"""Where traces are, and the `latest` link."""

import os
from pathlib import Path

import pytest

from pyrr.cli import _traces
from pyrr.errors import EnvironmentUnsupported, TraceError


def make_trace(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "trace.json").write_text("{}")
    return directory


def test_home_follows_the_environment(tmp_path: Path) -> None:
    both = {"PYRR_TRACE_DIR": "/t", "XDG_DATA_HOME": "/x"}
    assert _traces.trace_home(both) == Path("/t")
    assert _traces.trace_home({"XDG_DATA_HOME": "/x"}) == Path("/x/pyrr")
    assert _traces.trace_home({}) == Path.home() / ".local/share/pyrr"


def test_names_count_up(trace_home: Path) -> None:
    names = [_traces.make_named(trace_home, "/usr/bin/odd name").name for _ in range(3)]
    assert names == ["odd_name-0", "odd_name-1", "odd_name-2"]


@pytest.mark.parametrize("program", ["..", "-rf", "/", "", "."])
def test_odd_program_names_stay_inside(trace_home: Path, program: str) -> None:
    made = _traces.make_named(trace_home, program)
    assert made.parent == trace_home
    assert not made.name.startswith((".", "-"))


def test_chosen_directory_may_be_empty_but_not_in_use(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert _traces.make_at(tmp_path / "empty") == tmp_path / "empty"
    assert _traces.make_at(tmp_path / "a/b").is_dir()
    make_trace(tmp_path / "used")
    with pytest.raises(EnvironmentUnsupported, match="exists already"):
        _traces.make_at(tmp_path / "used")


def test_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentUnsupported, match="cannot make a trace"):
        _traces.make_named(tmp_path / "file", "true")
    with pytest.raises(EnvironmentUnsupported, match="cannot make a trace"):
        _traces.make_at(tmp_path / "file/x")


def test_find_by_path_name_and_latest(
    trace_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = make_trace(trace_home / "true-0")
    elsewhere = make_trace(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    with _traces.latest_is(trace_home, named):
        pass
    assert _traces.find_trace(None, trace_home) == named
    assert _traces.find_trace("true-0", trace_home) == named
    assert _traces.find_trace("latest", trace_home) == named
    assert _traces.find_trace("elsewhere", trace_home) == elsewhere
    assert _traces.find_trace(str(elsewhere), trace_home) == elsewhere
    with _traces.latest_is(trace_home, elsewhere):
        pass
    assert _traces.find_trace(None, trace_home) == elsewhere


def test_what_is_not_there(trace_home: Path, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no traces in"):
        _traces.find_trace(None, trace_home)
    with pytest.raises(TraceError, match="there is no trace x"):
        _traces.find_trace("x", trace_home)
    with pytest.raises(TraceError, match="not a trace"):
        _traces.find_trace(str(tmp_path), trace_home)
    trace_home.mkdir()
    (trace_home / "latest").symlink_to("gone-0")
    with pytest.raises(TraceError, match="gone-0, is gone"):
        _traces.find_trace(None, trace_home)


def test_latest_goes_back_when_nothing_was_recorded(trace_home: Path) -> None:
    first = make_trace(trace_home / "first-0")
    with _traces.latest_is(trace_home, first):
        pass
    with pytest.raises(RuntimeError), _traces.latest_is(trace_home, trace_home / "second-0"):
        raise RuntimeError
    assert _traces.find_trace(None, trace_home) == first


def test_latest_stays_when_the_recording_broke_off(trace_home: Path) -> None:
    trace = trace_home / "broken-0"

    def break_off() -> None:
        with _traces.latest_is(trace_home, trace):
            make_trace(trace)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert _traces.find_trace(None, trace_home) == trace


def test_list_is_in_order_of_time_and_leaves_links_out(trace_home: Path) -> None:
    for second, name in enumerate(("b-0", "a-0", "c-0")):
        make_trace(trace_home / name)
        os.utime(trace_home / name, (second, second))
    (trace_home / "latest").symlink_to("c-0")
    (trace_home / "not-a-trace").mkdir()
    listed = _traces.list_traces(trace_home)
    assert [each.path.name for each in listed] == ["b-0", "a-0", "c-0"]
    assert listed[0].header is None  # made by this test: damaged
    assert _traces.list_traces(trace_home / "nowhere") == []


def test_size_counts_files(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "t")
    (trace / "data").write_bytes(b"x" * 8192)
    assert _traces.size_of(trace) >= 8192
