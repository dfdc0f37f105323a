# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr record`: runs a program and writes down all that a replay needs."""

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pyrr.cli import _traces
from pyrr.cli._command import Command, Parser
from pyrr.engine.clock import Wish
from pyrr.errors import (
    EnvironmentUnsupported,
    ProgramNotExecutable,
    ProgramNotFound,
    PyrrError,
    UsageError,
)
from pyrr.native import TraceReader
from pyrr.record import SLICE_NS, RecordOptions, RecordResult, record
from pyrr.trace import directory

RUNNING_VARIABLE = "PYRR_RUNNING"
PYRR_FAILED = 125

EPILOG = """\
The exit status is the program's own (128+N if signal N ended it); 125 if pyrr failed,
126 if the program could not be run, 127 if there is no such program.
Recording lasts until the program and everything it started have ended.

examples:
  pyrr record ./server --port 8080
  pyrr record -o crash.trace -- make check
  pyrr ./server --port 8080            the word `record` may be left out
"""


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _milliseconds(text: str) -> int:
    """Nanoseconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no time between 0.01 and 10000 ms")
    return int(value * 1e6)


class Record:
    """Records a program."""

    def __init__(self, engine: Callable[[RecordOptions], RecordResult] = record) -> None:
        self._engine = engine

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(
            name="record",
            description="Runs PROGRAM and records it with everything it starts.",
            epilog=EPILOG,
        )
        parser.usage = (
            "pyrr record [-o DIR] [--env NAME=VALUE] [--switch share|always|preempt] [--slice MS]\n"
            "                   [--clock auto|pmu|probe] [-v] [--] PROGRAM [ARGUMENT ...]"
        )
        add = parser.add_argument
        add("-o", dest="directory", metavar="DIR", type=Path, help="write the trace to DIR")
        add(
            "--env",
            metavar="NAME=VALUE",
            type=_assignment,
            action="append",
            default=[],
            help="set a variable in the program's environment; may be repeated",
        )
        add(
            "--switch",
            choices=("share", "always", "preempt"),
            default="share",
            help="when another task gets to run: after a fair share (default), or after every"
            " event, which brings out bugs that depend on timing; preempt: as share, but a task"
            " is stopped at the end of its share even if no other one waits",
        )
        add(
            "--slice",
            metavar="MS",
            type=_milliseconds,
            default=SLICE_NS,
            help="a fair share, in milliseconds (default 50)",
        )
        add(
            "--clock",
            choices=[wish.value for wish in Wish],
            default=Wish.AUTO.value,
            help="what names places inside user code: probes in the code, which work on every"
            " machine, or the CPU's branch counter (PMU), where it passes its self-test; auto"
            " (default): the one that `pyrr doctor` names",
        )
        add("-v", "--verbose", action="store_true", help="say where the trace is")
        add("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Records; the program's exit status."""
        command: list[str] = options.command
        if command[:1] == ["--"]:
            command = command[1:]
        if not command:
            raise UsageError("no program to record was given", "pyrr record --help")
        if not command[0]:
            raise ProgramNotFound("the program's name is empty", "pyrr record --help")
        _refuse_nesting()
        home = directory.trace_home()
        chosen: Path | None = options.directory
        trace = directory.make_at(chosen) if chosen else directory.make_named(home, command[0])
        wanted = RecordOptions(
            argv=tuple(command),
            trace_dir=trace,
            env={**dict(options.env), RUNNING_VARIABLE: "1"},
            switch=options.switch,
            slice_ns=options.slice,
            clock=Wish(options.clock),
        )
        with _traces.latest_is(home, trace), _nothing_left_if_never_begun(trace):
            result = self._engine(wanted)
        if options.verbose or sys.stderr.isatty():
            print(f"pyrr: recorded to {trace}", file=sys.stderr)
        return result.exit_code

    def exit_code(self, error: PyrrError) -> int:
        """126 or 127 where the program could not be run, else 125."""
        could_not_run = isinstance(error, ProgramNotFound | ProgramNotExecutable)
        return error.exit_code if could_not_run else PYRR_FAILED


def _refuse_nesting() -> None:
    if os.environ.get(RUNNING_VARIABLE) == "1":
        raise EnvironmentUnsupported(
            f"this is itself being recorded by pyrr ({RUNNING_VARIABLE}=1)",
            remedy=f"record the outer program; if there is none: unset {RUNNING_VARIABLE}",
        )


@contextlib.contextmanager
def _nothing_left_if_never_begun(trace: Path) -> Iterator[None]:
    try:
        yield
    except PyrrError:
        if not _has_events(trace):
            shutil.rmtree(trace, ignore_errors=True)
        raise


def _has_events(trace: Path) -> bool:
    try:
        with TraceReader(trace, with_data=False) as reader:
            return reader.next() is not None
    except PyrrError:
        return False


COMMAND: Command = Record()
