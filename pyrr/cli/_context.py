# SPDX-License-Identifier: GPL-2.0-or-later
"""The events that led to a place in a trace, as lines of `pyrr dump`."""

import contextlib
from pathlib import Path

from pyrr.cli import _render
from pyrr.errors import PyrrError
from pyrr.model.syscalls import SYSCALLS
from pyrr.native import TraceReader

SHOWN = 10


def leading_to(trace: Path, event: int) -> tuple[str, ...]:
    """A heading and the last events up to an EventIndex, the one itself included.

    Nothing where the event is not known. A trace that cannot be read that far gives what
    there is: this is an addition to another error's message.
    """
    if event < 1:
        return ()
    find = {row.numbers["x86_64"]: row for row in SYSCALLS}.get
    lines = []
    with contextlib.suppress(PyrrError), TraceReader(trace) as reader:
        reader.seek(max(1, event - SHOWN + 1))
        for found in reader:
            if found.index > event:
                break
            lines.append(_render.line(found, find))
            if found.index == event:
                break
    return ("the recording up to there:", *lines) if lines else ()
