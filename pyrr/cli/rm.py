# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr rm`: deletes traces."""

import argparse
from pathlib import Path

from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.errors import TraceError
from pyrr.trace import directory

EPILOG = """\
examples:
  pyrr rm server-3
  pyrr rm -f server-3 ./crash.trace    no complaint about what is not there
"""


class Rm(PlainFailure):
    """Deletes traces."""

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(name="rm", description="Deletes traces.", epilog=EPILOG)
        add = parser.add_argument
        add("-f", "--force", action="store_true", help="be content if a trace is not there")
        add("traces", nargs="+", metavar="TRACE", help="directory or name")
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Deletes all that were named, or, if one is not a trace, none."""
        home = directory.trace_home()
        found: list[Path] = []
        for name in options.traces:
            try:
                found.append(directory.find_trace(name, home))
            except TraceError:
                if not options.force or Path(name).is_dir():
                    raise
        for trace in dict.fromkeys(found):
            directory.remove(trace, home)
        return 0


COMMAND: Command = Rm()
