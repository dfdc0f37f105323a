# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr dump`: the events of a trace, one a line."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrr.cli import _render, _traces
from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.errors import UsageError
from pyrr.model.events import Event
from pyrr.model.syscalls import SYSCALLS
from pyrr.native import TraceReader

EPILOG = """\
RANGE is an event's number N, a span N-M, or N- for all from N on; `end` stands for the
last event. A line reads

  EVENT TASK name(argument=value, ...) = result

TASK is tid/serial: tids are used again, serials never are. Memory that a call wrote is
shown; pointers through which it only read are shown as addresses. `<blocked ...>` and
`<... resumed>` are the two halves of a call during which other tasks ran.

examples:
  pyrr dump | less
  pyrr dump 100-120 server-3
  pyrr dump end
  pyrr dump --json 17 | jq .arguments
"""

RANGE = re.compile(r"(\d+|end)(-(\d+|end)?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Events `first` to `last`, both included; None stands for the end."""

    first: int | None = 1
    last: int | None = None


class Dump(PlainFailure):
    """Prints events."""

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(
            name="dump",
            description="Prints the events of a trace: what the program asked of the kernel\n"
            "and what came back, signals, exits.",
            epilog=EPILOG,
        )
        parser.usage = "pyrr dump [RANGE] [--json] [TRACE]"
        add = parser.add_argument
        add("--json", action="store_true", help="one JSON object a line, with all details")
        add("words", nargs="*", metavar="RANGE, TRACE", help="which events of which trace")
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Prints them."""
        span, name = split(options.words)
        find = {row.numbers["x86_64"]: row for row in SYSCALLS}.get
        trace = _traces.open_trace(name)
        with trace.reader() as reader:
            for event in select(reader, span):
                if options.json:
                    print(json.dumps(_render.as_json(event, find)))
                else:
                    print(_render.line(event, find))
            reason = reader.end_reason
        if reason:
            sys.stdout.flush()
            print(f"pyrr: this trace ends early: {reason}", file=sys.stderr)
        return 0


def split(words: list[str]) -> tuple[Span, str | None]:
    """RANGE and TRACE, in either order; a word that looks like a range is one."""
    ranges = [word for word in words if RANGE.fullmatch(word) and not Path(word).is_dir()]
    names = [word for word in words if word not in ranges]
    if len(ranges) > 1 or len(names) > 1:
        raise UsageError(f"one RANGE and one TRACE at most, not {' '.join(words)}", "pyrr dump -h")
    return (parse_range(ranges[0]) if ranges else Span()), (names[0] if names else None)


def parse_range(text: str) -> Span:
    """N, N-M, N-, end; raises UsageError where it makes no sense."""
    found = RANGE.fullmatch(text)
    if not found:
        raise UsageError(f"{text} is not a range of events", "pyrr dump 100-120")
    first = _bound(found[1])
    last = _bound(found[3]) if found[2] else first
    if first == 0 or (first and last and last < first) or (first is None and last):
        raise UsageError(f"{text} is not a range of events: they count from 1", "pyrr dump 1-20")
    return Span(first=first, last=last)


def _bound(text: str | None) -> int | None:
    return None if text in {None, "end"} else int(text or 0)


def select(reader: TraceReader, span: Span) -> Iterator[Event]:
    """The events of a span."""
    if span.first is None:
        yield from _last(reader)
        return
    if span.first > 1:
        reader.seek(span.first)
    for event in reader:
        if span.last is not None and event.index > span.last:
            return
        yield event
        if event.index == span.last:
            return


def _last(reader: TraceReader) -> Iterator[Event]:
    last: Event | None = None
    for event in reader:
        last = event
    if last is not None:
        yield last


COMMAND: Command = Dump()
