# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr ls`: lists traces."""

import argparse
import shlex

from pyrr.cli import _format, _table, _traces
from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.trace import directory

EPILOG = """\
examples:
  pyrr ls
  pyrr ls -l
"""


class Ls(PlainFailure):
    """Lists traces."""

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(name="ls", description="Lists traces, oldest first.", epilog=EPILOG)
        parser.add_argument(
            "-l",
            "--long",
            action="store_true",
            help="with size on disk, date, duration and program",
        )
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Prints names, or a table."""
        traces = _traces.listed()
        if options.long:
            heads = ("NAME", "SIZE", "DATE", "DURATION", "PROGRAM")
            _table.show(heads, [_row(trace) for trace in traces])
        else:
            for trace in traces:
                print(trace.path.name)
        return 0


def _row(trace: _traces.Listed) -> tuple[str, ...]:
    return (
        trace.path.name,
        _format.size(directory.size_of(trace.path)),
        _format.date(trace.start),
        _format.duration(trace.duration_ns),
        _format.printable(shlex.join(trace.header.argv)) if trace.header else "? (damaged)",
    )


COMMAND: Command = Ls()
