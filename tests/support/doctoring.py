# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of traces in which something was changed, so that replay must notice."""

import shutil
from collections.abc import Callable
from pathlib import Path

from pyrr.model.events import Event
from pyrr.native import TraceReader, TraceWriter
from pyrr.trace.format import DATA_FILE, EVENTS_FILE


def doctored(trace: Path, target: Path, change: Callable[[Event], Event]) -> Path:
    """Writes the trace anew in `target`, each event as `change` makes it."""
    streams = shutil.ignore_patterns(EVENTS_FILE, DATA_FILE)
    shutil.copytree(trace, target, ignore=streams, copy_function=shutil.copyfile)
    with TraceReader(trace) as reader, TraceWriter(target) as writer:
        for event in reader:
            writer.append(change(event))
    return target
