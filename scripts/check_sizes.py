#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that no function and no file has outgrown what a reader can hold.

C: 80 lines a function, 800 a file, 100 columns. Python: 50 a function, 500 a file.
Generated files (*.inc) are exempt. Exit status 1 and one line a finding if any.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
C_FUNCTION_LINES = 80
C_FILE_LINES = 800
C_COLUMNS = 100
TAB = 8
PYTHON_FUNCTION_LINES = 50
PYTHON_FILE_LINES = 500
# A function body opens with a brace in column one and ends with one there: kernel style.
C_FUNCTION_NAME = re.compile(r"(\w+)\s*\(")
C_NOISE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is too big."""

    path: Path
    line: int
    what: str
    size: int
    limit: int

    def __str__(self) -> str:
        where = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{where}:{self.line}: {self.what} has {self.size}, the limit is {self.limit}"


def blank_noise(text: str) -> str:
    """C text with comments, strings and characters blanked, line breaks kept."""
    return C_NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def c_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of each function body, by counting braces."""
    depth = 0
    first = 0
    name = ""
    statement = ""
    for number, line in enumerate(blank_noise(text).split("\n"), start=1):
        if depth == 0:
            statement += " " + line.partition("{")[0]
        opened, closed = line.count("{"), line.count("}")
        if depth == 0 and opened:
            found = C_FUNCTION_NAME.search(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", statement))
            name, first = (found.group(1) if found and "=" not in statement else ""), number
        depth += opened - closed
        if depth <= 0 and (closed or ";" in line or line.startswith("#")):
            depth = 0
            statement = ""
            if name:
                yield name, first, number - first + 1
                name = ""


def check_c(path: Path, text: str) -> Iterator[Finding]:
    """Findings of one C file."""
    lines = text.splitlines()
    if len(lines) > C_FILE_LINES:
        yield Finding(path=path, line=1, what="file", size=len(lines), limit=C_FILE_LINES)
    for number, line in enumerate(lines, start=1):
        width = len(line.expandtabs(TAB))
        if width > C_COLUMNS:
            yield Finding(path=path, line=number, what="line", size=width, limit=C_COLUMNS)
    for name, first, size in c_functions(text):
        if size > C_FUNCTION_LINES:
            what = f"function {name}"
            yield Finding(path=path, line=first, what=what, size=size, limit=C_FUNCTION_LINES)


def check_python(path: Path, text: str) -> Iterator[Finding]:
    """Findings of one Python file."""
    size = len(text.splitlines())
    if size > PYTHON_FILE_LINES:
        yield Finding(path=path, line=1, what="file", size=size, limit=PYTHON_FILE_LINES)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > PYTHON_FUNCTION_LINES:
                what = f"function {node.name}"
                limit = PYTHON_FUNCTION_LINES
                yield Finding(path=path, line=node.lineno, what=what, size=size, limit=limit)


def findings(root: Path) -> Iterator[Finding]:
    """All findings below a checkout."""
    for path in sorted((root / "csrc").rglob("*.[ch]")):
        yield from check_c(path, path.read_text(encoding="utf-8"))
    for folder in ("pyrr", "scripts", "tests", "benchmarks"):
        for path in sorted((root / folder).rglob("*.py")):
            yield from check_python(path, path.read_text(encoding="utf-8"))


def main() -> int:
    """Prints all findings."""
    found = list(findings(ROOT))
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
