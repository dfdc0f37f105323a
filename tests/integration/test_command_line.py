# SPDX-License-Identifier: GPL-2.0-or-later
"""The real command on small recordings, and on what people get wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RunPyrr

SCRIPT = "echo out; echo err >&2; (exit 3); kill -TERM $$"


@pytest.fixture
def shell_trace(run_pyrr: RunPyrr, trace_home: Path) -> Path:
    """A shell that ran one subshell and was killed by SIGTERM."""
    done = run_pyrr("record", "sh", "-c", SCRIPT)
    assert (done.returncode, done.stdout, done.stderr) == (128 + 15, b"out\n", b"err\n")
    return trace_home / "sh-0"


def test_replay_gives_output_and_status(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    for words in (("-a",), ("-a", "sh-0"), ("--check=memory", "-a", str(shell_trace))):
        done = run_pyrr("replay", *words)
        assert (done.returncode, done.stdout, done.stderr) == (128 + 15, b"out\n", b"err\n")


def test_ps(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    lines = run_pyrr("ps").stdout.decode().splitlines()
    assert lines[0].split() == ["PID", "PPID", "EXIT", "CMD"]
    shell, subshell = (line.split(maxsplit=3) for line in lines[1:])
    assert shell[1:] == ["--", "-15", f"sh -c '{SCRIPT}'"]
    assert subshell[1:3] == [shell[0], "3"]
    assert subshell[3].endswith("(forked, no exec)")


def test_dump(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    text = run_pyrr("dump").stdout.decode()
    lines = text.splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1))
    assert "write(fd=1, " in text
    assert "--- SIGTERM (fatal" in text
    assert "+++ killed by SIGTERM" in text
    assert "end of the recording" in lines[-1]
    assert run_pyrr("dump", "end").stdout.decode().splitlines() == lines[-1:]
    assert run_pyrr("dump", "2-4", "sh-0").stdout.decode().splitlines() == lines[1:4]


def test_dump_json_has_every_event(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    events = [json.loads(line) for line in run_pyrr("dump", "--json").stdout.splitlines()]
    assert [event["event"] for event in events] == list(range(1, len(events) + 1))
    writes = [event for event in events if event.get("syscall") == "write"]
    assert any(event["arguments"]["fd"] == 1 for event in writes)


def test_a_clock_that_cannot_be_used_is_refused(run_pyrr: RunPyrr, trace_home: Path) -> None:
    done = run_pyrr("record", "--clock=pmu", "true")
    assert done.returncode == 125
    fact, remedy = done.stderr.decode().splitlines()
    assert fact.startswith("pyrr: the PMU clock ")
    assert remedy.startswith("hint: ")
    assert list(trace_home.iterdir()) == []


def test_info(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    facts = json.loads(run_pyrr("info").stdout)
    assert facts["argv"] == ["sh", "-c", SCRIPT]
    assert facts["complete"] is True
    assert facts["clock"] == "probe"
    assert facts["clock_reason"]
    assert facts["processes"] == 2
    assert facts["events"] == sum(facts["events_by_kind"].values())
    assert facts["path"] == str(shell_trace)


def test_ls_and_rm(run_pyrr: RunPyrr, shell_trace: Path) -> None:
    assert run_pyrr("ls").stdout == b"sh-0\n"
    name, *_, program = run_pyrr("ls", "-l").stdout.decode().splitlines()[1].split(maxsplit=6)
    assert (name, program) == ("sh-0", f"sh -c '{SCRIPT}'")
    assert run_pyrr("rm", "sh-0").returncode == 0
    assert run_pyrr("ls").stdout == b""
    gone = run_pyrr("replay", "-a")
    assert gone.returncode == 4
    assert gone.stderr.startswith(b"pyrr: there are no traces in ")


def test_variables_reach_the_program(run_pyrr: RunPyrr) -> None:
    done = run_pyrr("record", "--env", "A=x y", "--", "sh", "-c", 'echo "$A $PYRR_RUNNING"')
    assert done.stdout == b"x y 1\n"
    assert run_pyrr("replay", "-a").stdout == b"x y 1\n"


def test_bare_program(run_pyrr: RunPyrr) -> None:
    assert run_pyrr("sh", "-c", "exit 7").returncode == 7
    assert run_pyrr("replay", "-a").returncode == 7


def refused(done_stderr: bytes) -> None:
    """One line of fact, one of remedy."""
    lines = done_stderr.decode().splitlines()
    assert lines[0].startswith("pyrr: "), lines
    assert lines[1].startswith("hint: "), lines
    assert len(lines) == 2, lines


def make_file(path: Path, contents: bytes, mode: int) -> str:
    path.write_bytes(contents)
    path.chmod(mode)
    return str(path)


def unrunnable(place: Path, what: str) -> str:
    match what:
        case "missing":
            return str(place / "nope")
        case "missing in PATH":
            return "pyrr-test-no-such-program"
        case "not executable":
            return make_file(place / "f", b"#!/bin/sh\n", 0o644)
        case "directory":
            return str(place)
        case "no interpreter":
            return make_file(place / "f", b"#!/no/such/sh\n", 0o755)
        case "not a program":
            return make_file(place / "f", b"\x7fELF???", 0o755)
        case _:
            return ""


@pytest.mark.parametrize(
    ("what", "codes"),
    [
        ("missing", {127}),
        ("missing in PATH", {127}),
        ("not executable", {126}),
        ("directory", {126}),
        ("no interpreter", {126, 127}),
        ("not a program", {126}),
        ("empty name", {127}),
    ],
)
def test_programs_that_cannot_run(
    run_pyrr: RunPyrr, trace_home: Path, tmp_path: Path, what: str, codes: set[int]
) -> None:
    program = unrunnable(tmp_path, what)
    done = run_pyrr("record", "--", program)
    assert done.returncode in codes
    refused(done.stderr)
    assert not trace_home.exists() or os.listdir(trace_home) == []  # noqa: PTH208


@pytest.mark.parametrize(
    "damage", ["no header", "bad header", "other version", "no events", "empty events", "noise"]
)
def test_damaged_traces(run_pyrr: RunPyrr, shell_trace: Path, damage: str) -> None:
    header = shell_trace / "trace.json"
    match damage:
        case "no header":
            header.unlink()
        case "bad header":
            header.write_text("{")
        case "other version":
            facts = json.loads(header.read_text())
            header.write_text(json.dumps({**facts, "format_version": 999}))
        case "no events":
            (shell_trace / "events").unlink()
        case "empty events":
            (shell_trace / "events").write_bytes(b"")
        case "noise":
            (shell_trace / "events").write_bytes(os.urandom(5000))
    done = run_pyrr("replay", "-a", "sh-0")
    assert done.returncode == 4
    refused(done.stderr)
    assert run_pyrr("ls", "-l").returncode == 0
    assert run_pyrr("rm", "sh-0").returncode == 0


def test_pyrr_inside_pyrr(run_pyrr: RunPyrr, trace_home: Path) -> None:
    done = run_pyrr("record", "true", env={"PYRR_RUNNING": "1"})
    assert done.returncode == 125
    refused(done.stderr)


def test_whoever_reads_the_output_may_leave(shell_trace: Path, tmp_path: Path) -> None:
    """`pyrr dump | head -1` ends without a word on stderr."""
    with subprocess.Popen(
        [sys.executable, "-m", "pyrr", "dump", str(shell_trace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as dump:
        assert dump.stdout is not None
        assert dump.stderr is not None
        dump.stdout.close()
        assert dump.stderr.read() == b""
    assert dump.returncode == 141
