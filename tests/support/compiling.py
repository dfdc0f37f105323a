# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles test programs, each at most once a session and process."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
CC = os.environ.get("CC", "gcc")
CXX = os.environ.get("CXX", "g++")
WARNINGS = ("-Wall", "-Werror")


@functools.cache
def _cache() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="pyrr-test-programs-")


@functools.cache
def compiled(source: Path, cflags: tuple[str, ...] = (), cc: str | None = None) -> Path:
    """The executable of a C or C++ file. Raises AssertionError with the compiler's words."""
    target = Path(_cache().name) / source.stem
    cxx = source.suffix == ".cc"
    compiler = cc or (CXX if cxx else CC)
    standard = "-std=gnu++17" if cxx else "-std=gnu11"
    done = subprocess.run(
        [compiler, standard, "-O1", "-g", *WARNINGS, source.name, "-o", target, *cflags],
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}"
    return target
