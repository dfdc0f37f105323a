# SPDX-License-Identifier: GPL-2.0-or-later
"""Places that forbid something: what pyrr says there, and what it can do without."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import RunPyrr
from tests.integration.test_programs import prepare
from tests.support import directives
from tests.support.compiling import PROGRAMS

FORBID = Path(__file__).with_name("forbid.py")
PTRACE = 101
PERSONALITY = 135
PERF_EVENT_OPEN = 298
SCHED_SETAFFINITY = 203
PROCESS_VM_READV = 310
PROCESS_VM_WRITEV = 311
KCMP = 312
SECCOMP = 317
MEMFD_CREATE = 319
PIDFD_OPEN = 434
CLONE3 = 435

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_without(trace_home: Path, tmp_path: Path) -> Run:
    """Runs `pyrr` where these system calls are forbidden."""

    def run(answers: tuple[int, ...] | str, *arguments: str) -> subprocess.CompletedProcess[str]:
        listed = answers if isinstance(answers, str) else ",".join(map(str, answers))
        return subprocess.run(
            [sys.executable, FORBID, listed, sys.executable, "-m", "pyrr", *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env=os.environ,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=120,
        )

    return run


@pytest.mark.parametrize(
    ("number", "ability"),
    [
        (PTRACE, "ptrace (TRACEME)"),
        (PTRACE, "ptrace (SEIZE)"),
        (SECCOMP, "seccomp filter with trace stops"),
        (SCHED_SETAFFINITY, "core binding"),
        (MEMFD_CREATE, "memfd_create"),
    ],
)
def test_doctor_names_what_is_missing(run_without: Run, number: int, ability: str) -> None:
    done = run_without((number,), "doctor", "--json")
    assert done.returncode == 3
    missing = {
        finding["ability"]: finding["remedy"]
        for finding in json.loads(done.stdout)
        if finding["state"] == "missing"
    }
    assert missing[ability]


def test_doctor_says_why_the_branch_counter_is_of_no_use(run_without: Run) -> None:
    done = run_without((PERF_EVENT_OPEN,), "doctor", "--json")
    (clock,) = (found for found in json.loads(done.stdout) if found["ability"] == "clock")
    assert clock["state"] == "works"
    if "no branch event is known" not in clock["detail"]:
        assert clock["detail"].startswith("probe, because perf_event_open is forbidden")
        assert clock["remedy"]


def test_recording_without_ptrace_says_so(run_without: Run, trace_home: Path) -> None:
    done = run_without((PTRACE,), "record", "true")
    assert done.returncode == 125
    fact, remedy = done.stderr.splitlines()
    assert fact.startswith("pyrr: ")
    assert "ptrace" in fact
    assert remedy.startswith("hint: ")
    assert "SYS_PTRACE" in remedy or "pyrr doctor" in remedy


OPTIONAL = (
    PERSONALITY,
    PERF_EVENT_OPEN,
    PROCESS_VM_READV,
    PROCESS_VM_WRITEV,
    KCMP,
    PIDFD_OPEN,
    CLONE3,
)


def test_what_is_not_needed_can_be_forbidden(run_without: Run) -> None:
    done = run_without(OPTIONAL, "doctor")
    assert done.returncode == 0, done.stdout
    script = "echo $((6 * 7)); exit 3"
    recorded = run_without(OPTIONAL, "record", "sh", "-c", script)
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (3, "42\n", "")
    replayed = run_without(OPTIONAL, "replay", "-a")
    assert (replayed.returncode, replayed.stdout, replayed.stderr) == (3, "42\n", "")


# What Docker's profile answers an ordinary user's program, clone3 with ENOSYS.
CONTAINER = ",".join(
    [*(str(number) for number in OPTIONAL if number not in {CLONE3, PIDFD_OPEN}), f"{CLONE3}=38"]
)
ANSWERED = (
    "a03_signals_in_a_storm.c",
    "a12_seccomp_trap_emulates.c",
    "a12_seccomp_tsync.c",
    "a13_vsyscall.c",
    "forbidden_calls.c",
    "mem_other_process_ways.c",
    "mem_shared_racing.c",
    "proc_exec_from_thread.c",
    "proc_fork_tree.c",
    "proc_vfork.c",
    "py_compute_forbidden.py",
    "py_multiprocessing.py",
    "py_threads_queue.py",
    "refused_int80.c",
    "signal_job_control.c",
    "signal_restart_read.c",
    "thread_cancel_and_exit.c",
)


@pytest.mark.parametrize("name", ANSWERED)
def test_calls_that_another_filter_answers(
    run_without: Run, run_pyrr: RunPyrr, tmp_path: Path, name: str
) -> None:
    """No stop of pyrr's filter shows them, and programs go another way because of them."""
    source = PROGRAMS / name
    wanted = directives.read(source)
    bench = prepare(source, tmp_path / "home", wanted)
    recorded = run_without(CONTAINER, "record", *map(str, bench.command))
    assert recorded.returncode == wanted.status, recorded.stderr
    assert name != "forbidden_calls.c" or "clone3 38, mode 2," in recorded.stdout
    bench.remove_inputs()
    shown = (recorded.returncode, recorded.stdout, recorded.stderr)
    replayed = run_without(CONTAINER, "replay", "-a", "--check=memory")
    assert (replayed.returncode, replayed.stdout, replayed.stderr) == shown
    elsewhere = run_pyrr("replay", "-a")
    assert (elsewhere.returncode, elsewhere.stdout.decode(), elsewhere.stderr.decode()) == shown
