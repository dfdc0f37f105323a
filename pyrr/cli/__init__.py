# SPDX-License-Identifier: GPL-2.0-or-later
"""The `pyrr` command: an explicit list of subcommands, and one place that catches."""

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from pyrr import __version__
from pyrr.cli._command import Command, complain, parse
from pyrr.errors import EnvironmentUnsupported, PyrrError, TraceError, UsageError

INTERNAL_EXIT_CODE = 70
INTERRUPTED_EXIT_CODE = 130
BROKEN_PIPE_EXIT_CODE = 141

HELP = """\
usage: pyrr [COMMAND] [OPTIONS] ...

Record a Linux program once, then replay that very run as often as you like: same
results, times, process numbers and random numbers, without the program, its input files
or the network being there.

commands:
{commands}

getting going:
  pyrr record ./program its arguments  record a run (the word `record` may be left out)
  pyrr replay -a                       run it again, exactly
  pyrr dump | less                     read what it asked of the kernel
  pyrr doctor                          if something does not work

`pyrr COMMAND --help` tells more and gives examples. Traces are kept in $PYRR_TRACE_DIR,
else $XDG_DATA_HOME/pyrr, else ~/.local/share/pyrr; `latest` there is the newest one, and
is meant where no TRACE is given.

options:
  -h, --help     show this and exit
  --version      show the version and exit
"""


# In the order in which help shows them. Only the one that is asked for is imported: a
# recording should begin at once.
SUMMARIES: dict[str, str] = {
    "record": "run a program and record it",
    "replay": "run a recording again, exactly",
    "ps": "list the processes of a trace",
    "dump": "print the events of a trace, in the manner of strace",
    "info": "print facts about a trace, as JSON",
    "ls": "list traces, oldest first",
    "rm": "delete traces",
    "doctor": "check what this machine or container lacks, and what helps",
}


def load(name: str) -> Command:
    """The subcommand with a name of SUMMARIES: module pyrr.cli.NAME has it as COMMAND."""
    command: Command = import_module(f"pyrr.cli.{name}").COMMAND
    return command


def help_text() -> str:
    """What `pyrr --help` prints."""
    listing = "\n".join(f"  {name:<8}{summary}" for name, summary in SUMMARIES.items())
    return HELP.format(commands=listing)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one subcommand; the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
    except UsageError as error:
        complain(error.message, error.remedy)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        # Whoever read our output has gone: nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE_EXIT_CODE
    return status


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        print(help_text(), end="", file=sys.stderr)
        return UsageError.default_exit_code
    if arguments[0] in {"-h", "--help", "help"}:
        print(help_text(), end="")
        return 0
    if arguments[0] == "--version":
        print(f"pyrr {__version__}")
        return 0
    if arguments[0] in SUMMARIES:
        return _run(load(arguments[0]), arguments[1:])
    if arguments[0].startswith("-") and arguments[0] not in {"-o", "--"}:
        raise UsageError(f"there is no option {arguments[0]}", "pyrr --help")
    return _run(load("record"), arguments, typed=arguments[0])


def _run(command: Command, arguments: list[str], typed: str | None = None) -> int:
    try:
        return command.run(parse(command, arguments))
    except PyrrError as error:
        remedy = _meant(typed) or error.remedy or _general_remedy(error)
        complain(error.message, remedy, error.details)
        return command.exit_code(error)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 (the one place that catches all)
        return _internal(error)


def _general_remedy(error: PyrrError) -> str | None:
    """What helps with this kind of error where its place knew nothing better."""
    match error:
        case TraceError():
            return "record the program again: pyrr record PROGRAM"
        case EnvironmentUnsupported(errno=errno.ENOSPC | errno.EDQUOT):
            return "free disk space, or record to another disk: pyrr record -o DIR PROGRAM"
        case EnvironmentUnsupported():
            return "pyrr doctor"
        case _:
            return None


def _meant(typed: str | None) -> str | None:
    """A hint for a mistyped subcommand that was taken for a program."""
    if typed is None or "/" in typed:
        return None
    import difflib  # noqa: PLC0415

    close = difflib.get_close_matches(typed, SUMMARIES, n=1, cutoff=0.7)
    return f"did you mean `pyrr {close[0]}`?" if close else None


def _internal(error: Exception) -> int:
    if os.environ.get("PYRR_DEBUG") == "1":
        import traceback  # noqa: PLC0415

        traceback.print_exc()
    complain(
        f"internal error: {type(error).__name__}: {error}",
        "please report it, with what the same command prints under PYRR_DEBUG=1",
    )
    return INTERNAL_EXIT_CODE
