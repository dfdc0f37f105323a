# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace header of a recording that is about to begin."""

import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from pyrr import __version__
from pyrr.engine.clock import Choice
from pyrr.engine.cpu import this_cpu
from pyrr.trace.format import HostFacts, TraceHeader

NEW_UUID = Path("/proc/sys/kernel/random/uuid")
"""A new one each time it is read (random(4))."""


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def header_for(
    *, program: str, argv: Sequence[str], env: Sequence[str], core: int, clock: Choice
) -> TraceHeader:
    """What trace.json says of a recording that starts now, here."""
    names = os.uname()
    return TraceHeader(
        uuid=NEW_UUID.read_text(encoding="ascii").strip(),
        pyrr_version=__version__,
        program=str(Path(program).resolve()),
        argv=tuple(argv),
        env=tuple(env),
        cwd=str(Path.cwd()),
        host=HostFacts(
            hostname=names.nodename,
            kernel=names.release,
            machine=names.machine,
            page_size=resource.getpagesize(),
        ),
        cpu=this_cpu(),
        core=core,
        clock=clock.clock.value,
        clock_reason=clock.reason,
        start_time_ns=time.time_ns(),
        stack_limit=resource.getrlimit(resource.RLIMIT_STACK)[0] % (1 << 64),
        stdout_is_stderr=_same_file(1, 2),
    )
