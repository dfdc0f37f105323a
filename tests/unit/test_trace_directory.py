# SPDX-License-Identifier: GPL-2.0-or-later
"""Where traces are kept, how they are named, found and deleted."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyrr.errors import EnvironmentUnsupported, SystemFailure, TraceError
from pyrr.trace import directory as d
from pyrr.trace.format import HEADER_FILE


def make(home: Path, program: str = "prog") -> Path:
    trace = d.make_named(home, program)
    (trace / HEADER_FILE).touch()
    return trace


def test_home() -> None:
    assert d.trace_home({"PYRR_TRACE_DIR": "/a", "XDG_DATA_HOME": "/b"}) == Path("/a")
    assert d.trace_home({"XDG_DATA_HOME": "/b"}) == Path("/b/pyrr")
    assert d.trace_home({"PYRR_TRACE_DIR": ""}) == Path.home() / ".local/share/pyrr"
    assert d.trace_home({"PYRR_TRACE_DIR": "x"}) == Path.cwd() / "x"


@pytest.mark.parametrize(
    ("program", "name"),
    [("/usr/bin/ls", "ls-0"), ("../a b$", "a_b_-0"), (".hidden", "hidden-0"), ("/", "program-0")],
)
def test_names(tmp_path: Path, program: str, name: str) -> None:
    assert d.make_named(tmp_path / "new", program).name == name


def test_numbers_go_up(tmp_path: Path) -> None:
    assert [make(tmp_path).name for _ in range(3)] == ["prog-0", "prog-1", "prog-2"]
    d.remove(tmp_path / "prog-0", tmp_path)
    (tmp_path / "prog-7x").mkdir()
    (tmp_path / "prog-9").touch()
    assert make(tmp_path).name == "prog-10"


def test_two_recordings_never_share_a_name(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: d.make_named(tmp_path, "p"), range(40)))
    assert len(set(made)) == 40


def test_make_at(tmp_path: Path) -> None:
    assert d.make_at(tmp_path / "a/b") == tmp_path / "a/b"
    assert d.make_at(tmp_path / "a/b") == tmp_path / "a/b"
    with pytest.raises(EnvironmentUnsupported, match="exists already and is not empty"):
        d.make_at(tmp_path / "a")
    (tmp_path / "file").touch()
    with pytest.raises(SystemFailure, match=r"making a trace in .*file") as caught:
        d.make_at(tmp_path / "file")
    assert caught.value.remedy is not None


def test_latest(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no traces in .* yet"):
        d.find_trace(None, tmp_path)
    first, second = make(tmp_path), make(tmp_path)
    d.point_latest(tmp_path, first)
    d.point_latest(tmp_path, second)
    assert (tmp_path / "latest").readlink() == Path("prog-1")
    assert d.find_trace(None, tmp_path) == second.resolve()
    elsewhere = make(tmp_path / "else")
    d.point_latest(tmp_path, elsewhere)
    assert d.find_trace(None, tmp_path) == elsewhere.resolve()
    d.remove(elsewhere, tmp_path)
    assert d.latest(tmp_path) is None
    d.point_latest(tmp_path, tmp_path / "gone")
    with pytest.raises(TraceError, match=r"the latest trace, .*gone, is gone"):
        d.find_trace(None, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "else",
        "latest",
        "prog-0",
        "prog-1",
    ]


def test_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make(tmp_path / "home")
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    assert d.find_trace("prog-0", tmp_path / "home") == trace
    assert d.find_trace(str(trace), tmp_path) == trace
    with pytest.raises(TraceError, match="directory but not a trace"):
        d.find_trace(".", tmp_path)
    with pytest.raises(TraceError, match="there is no trace absent here or in"):
        d.find_trace("absent", tmp_path / "home")
    with pytest.raises(TraceError, match=r"there is no trace \.\./x/prog-0 here or in"):
        d.find_trace("../x/prog-0", tmp_path / "home")


def test_list_is_in_order_of_time(tmp_path: Path) -> None:
    traces = [make(tmp_path, name) for name in ("b", "a", "c")]
    for age, trace in enumerate(traces):
        os.utime(trace / HEADER_FILE, ns=(age, age * 10**9))
    (tmp_path / "not a trace").mkdir()
    d.point_latest(tmp_path, traces[0])
    assert d.list_traces(tmp_path) == traces
    assert [d.started_at(trace) for trace in traces] == [0.0, 1.0, 2.0]
    assert d.list_traces(tmp_path / "absent") == []
    assert d.started_at(tmp_path / "absent") == 0


def test_remove(tmp_path: Path) -> None:
    trace = make(tmp_path)
    (trace / "files").mkdir()
    (trace / "files/1").write_bytes(bytes(10000))
    (trace / "link").symlink_to(tmp_path)
    assert d.size_of(trace) >= 10000
    d.remove(trace, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "precious").mkdir()
    with pytest.raises(TraceError, match="precious is not a trace"):
        d.remove(tmp_path / "precious", tmp_path)
    (tmp_path / "latest").symlink_to(make(tmp_path))
    with pytest.raises(TraceError, match="latest is not a trace"):
        d.remove(tmp_path / "latest", tmp_path)
