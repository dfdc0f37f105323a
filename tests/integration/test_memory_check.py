# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr replay --check=memory` where the recording hashed memory at nearly every event."""

import subprocess
import sys
from pathlib import Path

import pytest

from pyrr.model.fields import PageHashesField
from pyrr.native import TraceReader
from tests.conftest import PROJECT, RunPyrr
from tests.support import directives
from tests.support.compiling import PROGRAMS, compiled

INTERPRETERS = {".py": [sys.executable, "-I"], ".sh": ["bash"]}
CHOSEN = (
    "a01_read_overwritten.c",
    "a01_recvmsg_watched.c",
    "a05_handler_resets_fpu.c",
    "a08_wipeonfork.c",
    "a09_clear_tid_join.c",
    "a15_deep_recursion.c",
    "futex_pi.c",
    "mem_brk.c",
    "mem_generated_code.c",
    "mem_mappings.c",
    "proc_fork_tree.c",
    "proc_vfork.c",
    "py_threads_queue.py",
    "sh_pipelines.sh",
    "signal_altstack.c",
)


def command_for(source: Path) -> list[str | Path]:
    wanted = directives.read(source)
    if source.suffix == ".c":
        return [compiled(source, wanted.cflags), *wanted.args]
    return [*INTERPRETERS[source.suffix], source, *wanted.args]


@pytest.mark.parametrize("mode", ["share", "always"])
@pytest.mark.parametrize("name", CHOSEN)
def test_memory_is_the_recordings(run_pyrr: RunPyrr, tmp_path: Path, name: str, mode: str) -> None:
    trace, work = tmp_path / "trace", tmp_path / "work"
    work.mkdir()
    command: list[str | Path] = [sys.executable, "-m", "tests.support.record_densely"]
    recorded = subprocess.run(
        [*command, trace, mode, work, *command_for(PROGRAMS / name)],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert recorded.returncode == 0, recorded.stderr.decode()
    with TraceReader(trace, with_data=False) as reader:
        samples = [event.field(PageHashesField) for event in reader]
    pages = [len(sample.pages) for sample in samples if sample]
    assert len(pages) >= 10
    assert max(pages) > 8
    replayed = run_pyrr("replay", "--check=memory", "-a", trace)
    assert replayed.stderr == recorded.stderr
    assert replayed.stdout == recorded.stdout
    assert replayed.returncode == 0


def test_hashes_cost_little(run_pyrr: RunPyrr, tmp_path: Path) -> None:
    """As recorded by default: a short program has a sample early and one at its end."""
    trace = tmp_path / "trace"
    assert run_pyrr("record", "-o", trace, "true").returncode == 0
    with TraceReader(trace, with_data=False) as reader:
        events = list(reader)
    hashed = [event.index for event in events if event.field(PageHashesField)]
    assert len(hashed) >= 2
    assert hashed[0] < len(events) / 2
    assert hashed[-1] >= len(events) - 3
    assert len(hashed) < len(events) / 4
