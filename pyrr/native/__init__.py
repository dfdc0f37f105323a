# SPDX-License-Identifier: GPL-2.0-or-later
"""The C core as typed Python: the only importer of cffi's library.

Handles own their C objects, belong to the thread that made them, and raise the
exceptions of `pyrr.errors`. No C pointer leaves this package.
"""

from pyrr.native._clock import ClockFacts, clock_facts
from pyrr.native._cpu import cpu_leaf, cpu_state
from pyrr.native._place import Place, SliceStop
from pyrr.native._session import (
    PointStats,
    RecordSession,
    RecordStop,
    RecordStopKind,
    ReplaySession,
    ReplayStop,
    ReplayStopKind,
    choose_cpu,
)
from pyrr.native._trace import TraceReader, TraceWriter, page_hash

__all__ = [
    "ClockFacts",
    "Place",
    "PointStats",
    "RecordSession",
    "RecordStop",
    "RecordStopKind",
    "ReplaySession",
    "ReplayStop",
    "ReplayStopKind",
    "SliceStop",
    "TraceReader",
    "TraceWriter",
    "choose_cpu",
    "clock_facts",
    "cpu_leaf",
    "cpu_state",
    "page_hash",
]
