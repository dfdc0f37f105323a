# SPDX-License-Identifier: GPL-2.0-or-later
"""Every x86-64 system call up to Linux 6.19, by family: declared, or refused by name."""

from pyrr.model.grammar import Syscall
from pyrr.model.syscalls import (
    fcntl,
    files,
    futex,
    ioctl,
    ipc,
    memory,
    prctl,
    process,
    signals,
    sockets,
    system,
    time,
    waiting,
)

_FAMILIES = (
    fcntl,
    files,
    futex,
    ioctl,
    ipc,
    memory,
    prctl,
    process,
    signals,
    sockets,
    system,
    time,
    waiting,
)

SYSCALLS: tuple[Syscall, ...] = tuple(
    sorted(
        (row for family in _FAMILIES for row in family.SYSCALLS),
        key=lambda row: row.numbers["x86_64"],
    )
)
BY_NAME: dict[str, Syscall] = {row.name: row for row in SYSCALLS}
