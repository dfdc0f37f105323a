# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr ps`: the processes of a trace."""

import argparse

from pyrr.cli import _format, _processes, _table, _traces
from pyrr.cli._command import Command, Parser, PlainFailure

EPILOG = """\
EXIT is the exit status, -N where signal N ended the process, ? where the trace does
not say. A process that never called exec shows the command of the one it is a copy of.

examples:
  pyrr ps
  pyrr ps make-0
"""


class Ps(PlainFailure):
    """Lists processes."""

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(name="ps", description="Lists the processes of a trace.", epilog=EPILOG)
        add = parser.add_argument
        add("trace", nargs="?", metavar="TRACE", help=_traces.NAMED)
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Prints the table."""
        trace = _traces.open_trace(options.trace)
        found = _processes.gather(trace.events(with_data=False))
        _table.show(("PID", "PPID", "EXIT", "CMD"), [_row(process) for process in found])
        return 0


def _row(process: _processes.Process) -> tuple[str, str, str, str]:
    parent = "--" if process.parent_pid is None else str(process.parent_pid)
    status = _format.exit_column(process.status)
    return str(process.pid), parent, status, process.command()


COMMAND: Command = Ps()
