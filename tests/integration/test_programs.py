# SPDX-License-Identifier: GPL-2.0-or-later
"""Every program of tests/programs: bare, recorded in each mode, replayed twice.

A program checks itself; its header comment names the rule it is about and what a wrong
engine would show. Before the replays the program and its directory are removed.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support import directives, needs
from tests.support.compiling import PROGRAMS, compiled
from tests.support.workbench import Workbench

SOURCES = sorted(path for path in PROGRAMS.iterdir() if path.suffix in {".c", ".cc", ".py", ".sh"})
MODES: dict[str, tuple[str, ...]] = {
    "share": (),
    # Whoever is busy is not switched away from before its slice ends.
    "always": ("--switch=always", "--slice=1"),
    "preempt": ("--switch=preempt", "--slice=1"),
}
INTERPRETERS = {".py": [sys.executable, "-I"], ".sh": ["bash"]}


def prepare(source: Path, home: Path, wanted: directives.Directives) -> Workbench:
    """Puts the program into its own directory under `home`."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / source.stem
    if source.suffix in {".c", ".cc"}:
        shutil.copy2(compiled(source, wanted.cflags, wanted.cc), program)
        start: list[str | Path] = []
    else:
        program = program.with_suffix(source.suffix)
        shutil.copy2(source, program)
        start = [*INTERPRETERS[source.suffix]]
    return Workbench(
        home=home,
        command=[*start, program, *wanted.args],
        status=wanted.status,
        stdin=wanted.stdin,
        env=dict(wanted.env),
        timeout=wanted.timeout,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_program(source: Path, mode: str, tmp_path: Path) -> None:
    wanted = directives.read(source)
    for need in wanted.needs:
        if reason := needs.missing(need):
            pytest.skip(reason)
    bench = prepare(source, tmp_path / "home", wanted)
    bare = bench.bare()
    recorded = bench.record(*MODES[mode])
    if wanted.deterministic:
        bench.assert_same("record, against bare", bare, recorded)
    bench.remove_inputs()
    bench.replay(recorded, 1)
    bench.replay(recorded, 1, "--check=memory")
    bench.clean()


def test_there_are_enough_programs() -> None:
    """The foundation promises at least 60, and one for each rule A1 to A18."""
    assert len(SOURCES) >= 60
    rules = {path.name[:3] for path in SOURCES if path.name[0] == "a" and path.name[1].isdigit()}
    assert {f"a{n:02}" for n in range(1, 19)} <= rules
