# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr info`: facts about a trace, as JSON."""

import argparse
import dataclasses
import json
from collections import Counter
from typing import Any

from pyrr.cli import _processes, _traces
from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.trace import directory
from pyrr.trace.reader import Trace

EPILOG = """\
"complete" says whether the trace reaches the end of the recording; if not, "ends_early"
says where it ends and why.

examples:
  pyrr info
  pyrr info server-3 | jq .events
"""


class Info(PlainFailure):
    """Prints facts."""

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(
            name="info", description="Prints facts about a trace, as JSON.", epilog=EPILOG
        )
        add = parser.add_argument
        add("trace", nargs="?", metavar="TRACE", help=_traces.NAMED)
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Prints one JSON object."""
        trace = _traces.open_trace(options.trace)
        header = dataclasses.asdict(trace.header)
        print(json.dumps({**header, **derived(trace)}, indent=2))
        return 0


def derived(trace: Trace) -> dict[str, Any]:
    """What the event stream itself tells."""
    kinds: Counter[str] = Counter()
    gatherer = _processes.Gatherer()
    last_time = 0
    with trace.reader(with_data=False) as reader:
        for event in reader:
            kinds[event.kind.name.lower()] += 1
            last_time = event.time_ns
            gatherer.take(event)
        reason = reader.end_reason
    facts: dict[str, Any] = {
        "path": str(trace.path),
        "bytes_on_disk": directory.size_of(trace.path),
        "events": kinds.total(),
        "events_by_kind": dict(sorted(kinds.items())),
        "processes": len(gatherer.processes()),
        "duration_ns": last_time,
        "complete": reason is None,
    }
    if reason is not None:
        facts["ends_early"] = reason
    return facts


COMMAND: Command = Info()
