# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals to pyrr or to what it records, and a full disk: nothing recorded is lost."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import RunPyrr

LOOP = "trap '' USR1; echo begun; while :; do read -r x < /dev/zero || :; done"
# Prints its pid, then waits for input that never comes.
WAIT = "echo $$; read -r line; echo not reached"


@contextmanager
def recording(script: str, trace: Path) -> Iterator[tuple[subprocess.Popen[bytes], bytes]]:
    """pyrr in a process group of its own, recording a shell; and the shell's first line."""
    with subprocess.Popen(
        [sys.executable, "-m", "pyrr", "record", "-o", trace, "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as pyrr:
        assert pyrr.stdout is not None
        first = pyrr.stdout.readline()
        try:
            yield pyrr, first
        finally:
            if pyrr.poll() is None:
                pyrr.kill()


def wait_until_it_reads(pid: int) -> None:
    """A write that is killed half way is seen by the reader of the pipe, not by pyrr."""
    deadline = time.monotonic() + 30
    while not Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 "):
        assert time.monotonic() < deadline, "the program does not get to its read()"
        os.sched_yield()


def ended(pyrr: subprocess.Popen[bytes]) -> int:
    return pyrr.wait(timeout=60)


def test_control_c_ends_the_program_and_the_trace_is_whole(
    run_pyrr: RunPyrr, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    with recording(WAIT, trace) as (pyrr, first):
        os.killpg(pyrr.pid, signal.SIGINT)  # as the terminal does
        assert ended(pyrr) == 128 + signal.SIGINT
    replayed = run_pyrr("replay", "-a", trace)
    assert (replayed.returncode, replayed.stdout) == (128 + signal.SIGINT, first)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("script", [WAIT, LOOP])
def test_ending_pyrr_ends_the_program(
    run_pyrr: RunPyrr, tmp_path: Path, number: signal.Signals, script: str
) -> None:
    trace = tmp_path / "trace"
    with recording(script, trace) as (pyrr, first):
        pyrr.send_signal(number)
        code = ended(pyrr)
    assert code in {128 + number, 128 + signal.SIGKILL}
    replayed = run_pyrr("replay", "-a", trace)
    assert (replayed.returncode, replayed.stdout) == (code, first)


def test_killing_pyrr_kills_the_program_and_keeps_what_was_written(
    run_pyrr: RunPyrr, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    with recording(WAIT, trace) as (pyrr, first):
        program = os.pidfd_open(int(first))
        pyrr.kill()
        assert ended(pyrr) == -signal.SIGKILL
        gone, _, _ = select.select([program], [], [], 30)
        os.close(program)
        assert gone, "the recorded program outlived pyrr"
    replayed = run_pyrr("replay", "-a", trace)
    assert replayed.returncode == 4
    assert first.startswith(replayed.stdout)
    assert b"ends early" in replayed.stderr
    assert b"hint: " in replayed.stderr


def test_killing_the_program_is_recorded(run_pyrr: RunPyrr, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with recording(WAIT, trace) as (pyrr, first):
        wait_until_it_reads(int(first))
        os.kill(int(first), signal.SIGKILL)
        assert ended(pyrr) == 128 + signal.SIGKILL
    replayed = run_pyrr("replay", "-a", trace)
    assert (replayed.returncode, replayed.stdout) == (128 + signal.SIGKILL, first)


def test_a_program_that_ignores_control_c_goes_on(run_pyrr: RunPyrr, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    script = "trap '' INT; echo begun; read -r line; echo $line"
    with recording(script, trace) as (pyrr, first):
        os.killpg(pyrr.pid, signal.SIGINT)
        out, err = pyrr.communicate(b"more\n", timeout=60)
    assert (pyrr.returncode, first + out, err) == (0, b"begun\nmore\n", b"")
    replayed = run_pyrr("replay", "-a", trace)
    assert (replayed.returncode, replayed.stdout) == (0, b"begun\nmore\n")


MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def own_mounts() -> list[str]:
    """What runs a command with mounts of its own; nothing where that is forbidden."""
    for command in (["unshare", "-m"], ["unshare", "-m", "--map-root-user"]):
        mount = [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            return command
    return []


OWN_MOUNTS = own_mounts()


@pytest.mark.skipif(not OWN_MOUNTS, reason="a small file system cannot be mounted here")
@pytest.mark.parametrize("size", ["16k", "400k", "6m"])
def test_full_disk(tmp_path: Path, trace_home: Path, size: str) -> None:
    """The program ends as it would; the trace is good up to where the disk was full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = "echo begun; head -c 9000000 /dev/urandom >/dev/null; echo done; exit 3"
    pyrr = f"{sys.executable} -m pyrr"
    steps = (
        f"{pyrr} record -o {disk}/trace sh -c '{script}'; echo status $?;"
        f"{pyrr} replay -a {disk}/trace; echo status $?"
    )
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", MOUNT, "sh", size, disk, "sh", "-c", steps],
        capture_output=True,
        check=False,
        timeout=120,
        text=True,
    )
    full = "begun\ndone\n"
    recorded, _, rest = done.stdout.partition("status ")
    code, _, rest = rest.partition("\n")
    assert "disk" in done.stderr or "space" in done.stderr, done.stderr
    if recorded == "":  # not even the program itself could be stored: nothing ran
        assert code == "125"
        return
    assert recorded == full
    assert code in {"3", "125"}, done.stderr
    assert code == "3" or "hint: free disk space" in done.stderr
    replayed, _, status = rest.partition("status ")
    assert full.startswith(replayed)
    assert status.strip() == "4"
