# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and places that pyrr cannot do much for: a fact, a remedy, and nothing lost.

Missing and broken programs and traces are in test_command_line.py, signals and a full disk
in test_interrupted.py, forbidden system calls in test_forbidden.py.
"""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import Outcome, environment, record_command, replay_command, run

NOBODY = 65534
COULD_NOT_RUN = {125, 126}
PYRR_FAILED = 125
TRACE_UNUSABLE = 4
FSIZE_LIMIT = 20_000


def elf32_exit(status: int) -> bytes:
    """A 32-bit x86 executable that exits with `status`: header, one segment, 3 instructions."""
    base = 0x08048000
    code = b"\xb8\x01\0\0\0" + b"\xbb" + struct.pack("<I", status) + b"\xcd\x80"
    size = 52 + 32 + len(code)
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000)
    return header + segment + code


@pytest.fixture
def program32(tmp_path: Path) -> Path:
    path = tmp_path / "program32"
    path.write_bytes(elf32_exit(7))
    path.chmod(0o755)
    return path


def assert_fact_and_remedy(stderr: bytes) -> None:
    lines = [line for line in stderr.decode().splitlines() if line]
    assert any(line.startswith("pyrr: ") for line in lines), lines
    assert any(line.startswith("hint: ") for line in lines), lines
    assert not any("Traceback" in line for line in lines), lines


def test_32_bit_program(tmp_path: Path, program32: Path) -> None:
    done = run(record_command(tmp_path / "trace", [program32]), cwd=tmp_path)
    assert done.status in COULD_NOT_RUN, done
    assert_fact_and_remedy(done.stderr)
    assert b"32" in done.stderr


def test_32_bit_program_started_by_a_64_bit_one(tmp_path: Path, program32: Path) -> None:
    """The recording ends there and says why; up to there it replays."""
    trace = tmp_path / "trace"
    script = f"echo before; {program32}; echo after $?"
    done = run(record_command(trace, ["sh", "-c", script]), cwd=tmp_path)
    if done.status == 0:  # the exec was refused to the shell, which went on
        assert done.stdout.startswith(b"before\nafter "), done
        assert run(replay_command(trace), cwd=tmp_path) == done
        return
    assert done.status == PYRR_FAILED, done
    assert_fact_and_remedy(done.stderr)
    replayed = run(replay_command(trace), cwd=tmp_path)
    assert replayed.status == TRACE_UNUSABLE, replayed
    assert b"before\n".startswith(replayed.stdout)


def edit_header(trace: Path, **facts: object) -> None:
    header = json.loads((trace / "trace.json").read_text())
    (trace / "trace.json").write_text(json.dumps({**header, **facts}))


def test_trace_of_another_cpu(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert run(record_command(trace, ["true"]), cwd=tmp_path).status == 0
    cpu = json.loads((trace / "trace.json").read_text())["cpu"]
    edit_header(trace, cpu={**cpu, "vendor": "OtherVendor"})
    done = run(replay_command(trace), cwd=tmp_path)
    assert (done.status, done.stdout) == (TRACE_UNUSABLE, b"")
    assert_fact_and_remedy(done.stderr)
    edit_header(trace, cpu=cpu)
    assert run(replay_command(trace), cwd=tmp_path).status == 0


def test_trace_of_a_later_version(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert run(record_command(trace, ["true"]), cwd=tmp_path).status == 0
    edit_header(trace, format_version=1000)
    done = run(replay_command(trace), cwd=tmp_path)
    assert done.status == TRACE_UNUSABLE
    assert_fact_and_remedy(done.stderr)
    assert b"1000" in done.stderr


def test_pyrr_inside_pyrr(tmp_path: Path) -> None:
    """The inner one refuses, the outer recording is whole."""
    trace = tmp_path / "outer"
    inner = record_command(tmp_path / "inner", ["true"])
    done = run(record_command(trace, inner), cwd=tmp_path)
    assert done.status == PYRR_FAILED
    assert_fact_and_remedy(done.stderr)
    assert not (tmp_path / "inner").exists()
    assert run(replay_command(trace), cwd=tmp_path) == done


START_STATE = r"""
import os, resource, sys
status = dict(line.split(":\t", 1) for line in open("/proc/self/status"))
for name in ("SigBlk", "SigIgn", "SigCgt", "Seccomp", "NoNewPrivs", "CapEff", "Groups", "Umask"):
    print(name, status[name].strip())
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getaffinity(0))
print([resource.getrlimit(n) for n in range(16)], os.getcwd(), sys.argv)
fds = os.listdir("/proc/self/fd")
print(sorted(fd for fd in fds if os.path.exists("/proc/self/fd/" + fd)))
print(sorted(name for name in os.environ if not name.startswith("PYRR_")))
"""


def test_program_starts_as_it_would_bare(tmp_path: Path) -> None:
    """Signals, limits, descriptors, priorities: nothing of pyrr's own is inherited."""
    command = [sys.executable, "-I", "-c", START_STATE, "argument"]
    bare = run(command, cwd=tmp_path)
    recorded = run(record_command(tmp_path / "trace", command), cwd=tmp_path)

    def without_seccomp(outcome: Outcome) -> list[bytes]:
        # A filter is how pyrr sees system calls; the program's own view of it is unspecified.
        lines = outcome.stdout.splitlines()
        return [line for line in lines if not line.startswith((b"Seccomp", b"NoNewPrivs"))]

    assert without_seccomp(recorded) == without_seccomp(bare)
    assert recorded.stderr == bare.stderr == b""


@pytest.mark.parametrize("cached", [True, False])
def test_file_size_limit(tmp_path: Path, cached: bool) -> None:
    """RLIMIT_FSIZE stops the trace from growing: the program ends as it would."""
    env = environment({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    trace = tmp_path / "trace"
    command = [
        "sh",
        "-c",
        "echo begun; head -c 3000000 /dev/urandom > /dev/null; echo ended; exit 3",
    ]
    if cached:  # the copies of the programs themselves are not what meets the limit then
        before = record_command(tmp_path / "before", command)
        assert subprocess.run(before, env=env, capture_output=True, check=False).returncode == 3
    limited = subprocess.run(
        record_command(trace, command),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FSIZE_LIMIT, FSIZE_LIMIT)),
    )
    assert limited.returncode in {3, PYRR_FAILED}, limited
    assert_fact_and_remedy(limited.stderr)
    if limited.stdout:  # else not even the start fitted, and nothing ran
        assert limited.stdout == b"begun\nended\n"
    assert run(replay_command(trace), cwd=tmp_path).status in {TRACE_UNUSABLE, 3}


def as_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def nobody_can_run_pyrr() -> bool:
    """Whether this Python and this checkout are readable for everybody."""
    if os.geteuid() != 0:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import pyrr.cli"],
            cwd="/",
            env=environment(),
            capture_output=True,
            check=False,
            preexec_fn=as_nobody,
        )
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture
def public_place() -> Iterator[Path]:
    """A directory that everybody can reach, and one of nobody's own in it."""
    place = Path(tempfile.mkdtemp(prefix="pyrr-test-", dir="/var/tmp"))
    place.chmod(0o755)
    (place / "home").mkdir()
    os.chown(place / "home", NOBODY, NOBODY)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.skipif(not nobody_can_run_pyrr(), reason="needs root, and pyrr where nobody may read")
def test_setuid_program(public_place: Path) -> None:
    """An ordinary user's recording runs it without its privilege and says so, or refuses it."""
    program, home = public_place / "id", public_place / "home"
    shutil.copy2(shutil.which("id") or "/usr/bin/id", program)
    program.chmod(0o4755)
    trace = home / "trace"
    done, replayed = (
        subprocess.run(
            command,
            cwd=home,
            env=environment({"HOME": str(home)}),
            capture_output=True,
            check=False,
            timeout=60,
            preexec_fn=as_nobody,
        )
        for command in (record_command(trace, [program, "-u"]), replay_command(trace))
    )
    assert_fact_and_remedy(done.stderr)
    if done.returncode == 0:
        assert done.stdout == b"%d\n" % NOBODY
        assert (replayed.returncode, replayed.stdout) == (0, done.stdout)
    else:
        assert done.returncode in COULD_NOT_RUN, done
