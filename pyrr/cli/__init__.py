# SPDX-License-Identifier: GPL-2.0-or-later
"""The `pyrr` command: an explicit list of subcommands, and one place that catches."""

import difflib
import os
import sys
import traceback
from collections.abc import Sequence

from pyrr import __version__
from pyrr.cli._command import Command, complain, parse
from pyrr.cli.doctor import Doctor
from pyrr.cli.dump import Dump
from pyrr.cli.info import Info
from pyrr.cli.ls import Ls
from pyrr.cli.ps import Ps
from pyrr.cli.record import Record
from pyrr.cli.replay import Replay
from pyrr.cli.rm import Rm
from pyrr.errors import PyrrError, UsageError

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


def commands() -> tuple[Command, ...]:
    """All subcommands, in the order in which help shows them."""
    return (Record(), Replay(), Ps(), Dump(), Info(), Ls(), Rm(), Doctor())


def help_text(known: Sequence[Command]) -> str:
    """What `pyrr --help` prints."""
    listing = "\n".join(f"  {command.name:<8}{command.summary}" for command in known)
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
    known = commands()
    if not arguments:
        print(help_text(known), end="", file=sys.stderr)
        return UsageError.default_exit_code
    if arguments[0] in {"-h", "--help", "help"}:
        print(help_text(known), end="")
        return 0
    if arguments[0] == "--version":
        print(f"pyrr {__version__}")
        return 0
    by_name = {command.name: command for command in known}
    if arguments[0] in by_name:
        return _run(by_name[arguments[0]], arguments[1:], by_name)
    if arguments[0].startswith("-") and arguments[0] not in {"-o", "--"}:
        raise UsageError(f"there is no option {arguments[0]}", "pyrr --help")
    return _run(by_name["record"], arguments, by_name, typed=arguments[0])


def _run(
    command: Command, arguments: list[str], known: dict[str, Command], typed: str | None = None
) -> int:
    try:
        return command.run(parse(command, arguments))
    except PyrrError as error:
        complain(error.message, _meant(typed, known) or error.remedy)
        return command.exit_code(error)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 (the one place that catches all)
        return _internal(error)


def _meant(typed: str | None, known: dict[str, Command]) -> str | None:
    """A hint for a mistyped subcommand that was taken for a program."""
    close = difflib.get_close_matches(typed or "", known, n=1, cutoff=0.7)
    return f"did you mean `pyrr {close[0]}`?" if close else None


def _internal(error: Exception) -> int:
    if os.environ.get("PYRR_DEBUG") == "1":
        traceback.print_exc()
    complain(
        f"internal error: {type(error).__name__}: {error}",
        "please report it, with what the same command prints under PYRR_DEBUG=1",
    )
    return INTERNAL_EXIT_CODE
