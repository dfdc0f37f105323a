# SPDX-License-Identifier: GPL-2.0-or-later
"""Output goes to files, to files in append mode, and to a terminal, not only to pipes.

The same bytes must arrive from the recording and from each replay, in the place that the
replay was given.
"""

import os
import pty
import select
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import directives
from tests.support.compiling import PROGRAMS, compiled
from tests.support.running import environment, record_command, replay_command, shell_status

NAMES = ["io_splice", "io_stdout_duplicates", "io_stdout_big", "proc_orphan_writes"]
SECONDS = 60


def program(name: str, tmp_path: Path) -> tuple[Path, int]:
    """A copy of a test program, and the status it ends with."""
    source = PROGRAMS / f"{name}.c"
    wanted = directives.read(source)
    (tmp_path / "work").mkdir()
    copy = tmp_path / name
    shutil.copy2(compiled(source, wanted.cflags), copy)
    return copy, wanted.status


def into_file(command: Sequence[str | Path], mode: str, path: Path) -> tuple[int, bytes]:
    """Runs a command with stdout and stderr in one file; status and what the file then has."""
    path.write_bytes(b"already there\n" if mode == "ab" else b"")
    with path.open(mode) as file:
        done = subprocess.run(
            command,
            cwd=path.parent / "work",
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            check=False,
            timeout=SECONDS,
        )
    return shell_status(done.returncode), path.read_bytes()


@pytest.mark.parametrize("mode", ["wb", "ab"], ids=["file", "append"])
@pytest.mark.parametrize("name", NAMES)
def test_output_into_a_file(name: str, mode: str, tmp_path: Path) -> None:
    path, status = program(name, tmp_path)
    trace = tmp_path / "trace"
    recorded = into_file(record_command(trace, [path]), mode, tmp_path / "recorded")
    assert recorded[0] == status, recorded
    path.unlink()
    for number in range(2):
        replayed = into_file(replay_command(trace), mode, tmp_path / f"replayed-{number}")
        assert replayed == recorded, trace


def on_terminal(command: Sequence[str | Path], cwd: Path) -> tuple[int, bytes]:
    """Runs a command on a new terminal; status and all that appeared there."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment({"TERM": "xterm"}),  # `ls` has no colours without a terminal it knows
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    ) as process:
        os.close(follower)
        shown = b""
        while select.select([leader], [], [], SECONDS)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # EIO: nobody has the other side any more
                break
            shown += piece
    os.close(leader)
    return shell_status(process.returncode), shown


def test_output_on_a_terminal(tmp_path: Path) -> None:
    """The program sees a terminal; colours of `ls` and the size come from the trace."""
    trace = tmp_path / "trace"
    script = "test -t 1 && echo terminal; tty; stty size; ls --color=auto -d /tmp; exit 6"
    recorded = on_terminal(record_command(trace, ["sh", "-c", script]), tmp_path)
    assert recorded[0] == 6, recorded
    assert recorded[1].startswith(b"terminal\r\n"), recorded
    assert b"\x1b[" in recorded[1]
    for _ in range(2):
        status, shown = on_terminal(replay_command(trace), tmp_path)
        # pyrr itself may say on a terminal where the trace is.
        assert (status, shown) == (6, recorded[1].partition(b"pyrr: ")[0]), trace
