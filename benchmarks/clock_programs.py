# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that scripts/bench clock stops at the end of every slice."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench import ROOT
from tests.support import generating

WORKLOADS = ROOT / "tests/support/workloads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command, run in the directory that `programs` has filled, and its stdin."""

    name: str
    command: tuple[str, ...]
    stdin: bytes = b""


def _build(work: Path) -> None:
    builds = {
        "g++": ["g++", "-O2", "-o", work / "unordered", WORKLOADS / "unordered.cc"],
        "javac": ["javac", "-d", work, WORKLOADS / "Mixing.java"],
        "go": ["go", "build", "-o", work / "mixing", WORKLOADS / "mixing.go"],
    }
    for compiler, command in builds.items():
        if shutil.which(compiler):
            subprocess.run([str(word) for word in command], check=True, cwd=work)


def programs(work: Path) -> list[Program]:
    """Those that are installed, with the files they need made in `work`."""
    _build(work)
    generating.text_file(work / "words", 3 << 20)
    functions = (
        f"int f{n}(int *a, int n) {{ int s = 0; for (int i = 0; i < n; i++) {{"
        f" s += a[i] * {n}; if (s % {n + 2} == 1) s ^= a[n - i - 1]; }} return s; }}\n"
        for n in range(60)
    )
    (work / "many.c").write_text("".join(functions))
    load = ("./clock_load", "anonymous", "1", "2", "30")
    java = ("java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "Mixing", "20")
    found = [
        Program(name="tight loop", command=load),
        Program(
            name="python", command=(sys.executable, "-I", str(WORKLOADS / "counting.py"), "300")
        ),
        Program(name="gcc", command=("gcc", "-O2", "-S", "many.c", "-o", "-")),
        Program(name="perl", command=("perl", str(WORKLOADS / "words.pl"), "words", "3")),
        Program(name="sqlite3", command=("sqlite3", ":memory:"), stdin=generating.inserts(80_000)),
        Program(name="xz", command=("xz", "-T2", "-6", "--block-size=131072", "-c", "words")),
        Program(name="gzip", command=("gzip", "-9c", "words")),
        Program(name="node", command=("node", str(WORKLOADS / "mixing.js"), "20")),
        Program(name="java", command=java),
        Program(name="go", command=("./mixing", "400")),
        Program(name="c++", command=("./unordered", "1000")),
    ]
    return [
        program
        for program in found
        if shutil.which(program.command[0]) or (work / program.command[0]).exists()
    ]
