# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr replay`: runs a recording again, exactly."""

import argparse
from collections.abc import Callable

from pyrr.cli import _traces
from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.errors import Divergence, UsageError
from pyrr.replay import ReplayOptions, ReplayResult, replay

STDOUT, STDERR = 1, 2

EPILOG = """\
The exit status is the recorded program's own (128+N if signal N ended it); 4 if the
trace cannot be used, 5 if the replay disagreed with it, 3 if this machine lacks something.

examples:
  pyrr replay -a                       the latest recording
  pyrr replay -a server-3              by name (see `pyrr ls`)
  pyrr replay -a ./crash.trace --check=memory
"""


class Replay(PlainFailure):
    """Replays a trace."""

    def __init__(self, engine: Callable[[ReplayOptions], ReplayResult] = replay) -> None:
        self._engine = engine

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(
            name="replay",
            description="Runs a recording again. What the program wrote to stdout and stderr is\n"
            "written there again; nothing else of the outside world is touched.",
            epilog=EPILOG,
        )
        add = parser.add_argument
        add("-a", "--all", action="store_true", help="run to the end without a debugger")
        add(
            "--check",
            choices=("registers", "memory"),
            default="registers",
            help="what is compared with the recording at events (default: registers)",
        )
        add("trace", nargs="?", metavar="TRACE", help=_traces.NAMED)
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Replays; the recorded program's exit status."""
        if not options.all:
            raise UsageError("replay runs to the end only, and wants -a", "pyrr replay -a")
        trace = _traces.find(options.trace)
        wanted = ReplayOptions(
            trace_dir=trace, check=options.check, stdout_fd=STDOUT, stderr_fd=STDERR
        )
        try:
            return self._engine(wanted).exit_code
        except Divergence as diverged:
            from pyrr.cli import _context  # noqa: PLC0415 (only now is it needed)

            diverged.details = _context.leading_to(trace, diverged.event)
            raise


COMMAND: Command = Replay()
