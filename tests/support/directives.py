# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test program says about itself in its header comment.

Lines `pyrr-test: KEY=VALUE` (or `pyrr-test: deterministic`), VALUE to the end of the line:

* `status=N`: exit status as a shell shows it (128+N for a signal); 0 if not given
* `cc=COMMAND`: another compiler than $CC or gcc (g++ for .cc)
* `args=WORD ...`, `cflags=WORD ...`: split as a shell does
* `needs=WHAT`: see needs.py; may be repeated
* `stdin=TEXT`, `env=NAME=VALUE`: with Python's backslash escapes; env may be repeated
* `timeout=SECONDS`: for one run
* `deterministic`: a recorded run prints what a bare one prints
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

DEFAULT_TIMEOUT = 60.0
DIRECTIVE = re.compile(r"pyrr-test:[ \t]*(\w+)(?:=(.*))?$", re.MULTILINE)
KNOWN = {"cc", "status", "args", "cflags", "needs", "stdin", "env", "timeout", "deterministic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """All directives of one program."""

    status: int = 0
    cc: str | None = None
    args: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stdin: bytes = b""
    env: tuple[tuple[str, str], ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    deterministic: bool = False


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape")


def _assignment(text: str) -> tuple[str, str]:
    name, _, value = _unescaped(text).partition("=")
    return name, value


def parse(source: str) -> Directives:
    """The directives of a program's text. Raises ValueError for an unknown key."""
    found: dict[str, list[str]] = {}
    for key, value in DIRECTIVE.findall(source):
        if key not in KNOWN:
            raise ValueError(f"unknown directive {key!r}")
        found.setdefault(key, []).append(value.strip())

    def last(key: str, default: str) -> str:
        return found.get(key, [default])[-1]

    return Directives(
        status=int(last("status", "0")),
        cc=last("cc", "") or None,
        args=tuple(shlex.split(last("args", ""))),
        cflags=tuple(shlex.split(last("cflags", ""))),
        needs=tuple(found.get("needs", [])),
        stdin=_unescaped(last("stdin", "")).encode(),
        env=tuple(_assignment(text) for text in found.get("env", [])),
        timeout=float(last("timeout", str(DEFAULT_TIMEOUT))),
        deterministic="deterministic" in found,
    )


def read(path: Path) -> Directives:
    """The directives of a program's file."""
    return parse(path.read_text())
