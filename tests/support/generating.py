# SPDX-License-Identifier: GPL-2.0-or-later
"""Input files for real programs, the same for the same seed."""

import random
from pathlib import Path

WORDS = [
    "record",
    "replay",
    "trace",
    "event",
    "signal",
    "thread",
    "process",
    "memory",
    "kernel",
    "page",
    "handler",
    "clock",
    "socket",
    "futex",
    "define",
    "include",
    "static",
    "struct",
    "return",
    "while",
    "switch",
    "buffer",
    "offset",
    "length",
    "index",
    "value",
]


def text_file(path: Path, size: int, seed: int = 1) -> None:
    """A text file of about `size` bytes, in lines of words and numbers."""
    rng = random.Random(seed)
    block = []
    for _ in range(min(4000, size // 40 + 1)):
        count = rng.randint(3, 12)
        block.append(" ".join([str(rng.randrange(10**6)), *rng.choices(WORDS, k=count)]))
    written = 0
    with path.open("w") as file:
        while written < size:
            written += file.write("\n".join(block) + "\n")
            rng.shuffle(block)


def numbers_file(path: Path, size: int, seed: int = 2) -> None:
    """A file of `size` bytes at least, in lines of 17 random hexadecimal digits."""
    rng = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(0, size, 180_000):
            block = rng.randbytes(80_000).hex(" ", 8).replace(" ", "\n")
            file.write(block.encode() + b"\n")


def tree(path: Path, directories: int, files: int, seed: int = 3) -> None:
    """A tree of directories with text files, links and an executable."""
    rng = random.Random(seed)
    for number in range(directories):
        directory = path / f"dir{number % 5}" / f"sub{number}"
        directory.mkdir(parents=True)
        for name in range(files):
            text_file(directory / f"file{name}.txt", rng.randrange(1, 3000), seed=seed + name)
        (directory / "link").symlink_to("file0.txt")
    (path / "run").write_text("#!/bin/sh\necho run\n")
    (path / "run").chmod(0o755)


def c_project(path: Path, sources: int) -> None:
    """A small C project with a makefile."""
    names = [f"part{number}" for number in range(sources)]
    path.mkdir()
    (path / "parts.h").write_text("".join(f"int {name}(int x);\n" for name in names))
    for number, name in enumerate(names):
        (path / f"{name}.c").write_text(
            f'#include "parts.h"\n#include <stdio.h>\n#include <string.h>\n'
            f"int {name}(int x)\n{{\n\tchar text[64];\n"
            f'\tsnprintf(text, sizeof(text), "{name} of %d", x);\n'
            f"\treturn (int)strlen(text) * {number + 1};\n}}\n"
        )
    calls = " + ".join(f"{name}(7)" for name in names)
    (path / "main.c").write_text(
        f'#include "parts.h"\n#include <stdio.h>\n'
        f'int main(void)\n{{\n\tprintf("sum %d\\n", {calls});\n\treturn 0;\n}}\n'
    )
    objects = " ".join(f"{name}.o" for name in [*names, "main"])
    (path / "Makefile").write_text(
        f"CFLAGS = -O1 -Wall\nall: program\n\t./program\n"
        f"program: {objects}\n\t$(CC) -o $@ {objects}\n"
        f"$(OBJECTS): parts.h\n"
    )


def inserts(rows: int) -> bytes:
    """An SQL script with this many inserts in transactions, then queries."""
    rng = random.Random(4)
    lines = ["CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);"]
    for row in range(rows):
        if row % 1000 == 0:
            lines.append("BEGIN;")
        name = rng.choice(WORDS)
        lines.append(f"INSERT INTO t(name, value) VALUES('{name}', {rng.randrange(10**6)});")
        if row % 1000 == 999 or row == rows - 1:
            lines.append("COMMIT;")
    lines += [
        "CREATE INDEX by_name ON t(name);",
        "SELECT name, count(*), sum(value) FROM t GROUP BY name ORDER BY name;",
        "DELETE FROM t WHERE id % 3 = 0;",
        "VACUUM;",
        "SELECT count(*), max(id), min(value) FROM t;",
        "PRAGMA integrity_check;",
    ]
    return "\n".join(lines).encode() + b"\n"
