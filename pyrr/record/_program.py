# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file a command names, and whether pyrr can record it."""

import os
import stat
from pathlib import Path

from pyrr.errors import ProgramNotExecutable, ProgramNotFound, UnsupportedSyscall

ELF_CLASS_32 = 1


def resolve(command: str, path: str) -> str:
    """The file that execvp(3) would run. Raises ProgramNotFound, ProgramNotExecutable."""
    if "/" in command:
        candidates = [command]
    else:
        candidates = [f"{part or '.'}/{command}" for part in path.split(":")]
    existing = [name for name in candidates if _exists(name)]
    if not existing:
        where = "" if "/" in command else " in $PATH"
        raise ProgramNotFound(f"there is no program {command}{where}", f"command -v {command}")
    for name in existing:
        if Path(name).is_file() and os.access(name, os.X_OK):
            _check(name)
            return name
    if Path(existing[0]).is_dir():
        raise ProgramNotExecutable(f"{existing[0]} is a directory", "name a program inside it")
    raise ProgramNotExecutable(f"{existing[0]} is not executable", f"chmod +x {existing[0]}")


def _exists(name: str) -> bool:
    """As execvp(3) sees it: a directory that may not be searched holds nothing."""
    try:
        Path(name).stat()
    except OSError:
        return False
    return True


def _check(name: str) -> None:
    status = Path(name).stat()
    setuid = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
    setgid = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
    if setuid or setgid:
        kind = "setuid" if setuid else "setgid"
        raise UnsupportedSyscall(
            f"{name} is {kind}: under a tracer the kernel gives it no privileges",
            "run pyrr as the user whose privileges it needs",
        )
    with Path(name).open("rb") as file:
        start = file.read(5)
    if start[:4] == b"\x7fELF" and start[4] == ELF_CLASS_32:
        raise UnsupportedSyscall(f"{name} is a 32-bit program", "record a 64-bit build of it")
