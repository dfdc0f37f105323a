# SPDX-License-Identifier: GPL-2.0-or-later
"""What a subcommand is, and the argument parser that they share."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol

from pyrr.errors import PyrrError, UsageError


class Parser(argparse.ArgumentParser):
    """argparse with pyrr's manner of saying what is wrong."""

    def __init__(self, *, name: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=f"pyrr {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of printing and exiting."""
        raise UsageError(message, f"{self.prog} --help")


class Command(Protocol):
    """One subcommand. Output goes to stdout, facts about trouble are raised."""

    def parser(self) -> Parser:
        """Its argument parser, the source of its help and documentation."""
        ...

    def run(self, options: argparse.Namespace) -> int:
        """Does it; the exit status. May raise PyrrError."""
        ...

    def exit_code(self, error: PyrrError) -> int:
        """The exit status when `run` raised this error."""
        ...


class PlainFailure:
    """For most commands an error's own exit status is the command's."""

    def exit_code(self, error: PyrrError) -> int:
        """The error's own exit status."""
        return error.exit_code


def parse(command: Command, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a subcommand; raises UsageError."""
    return command.parser().parse_args(list(arguments))


def complain(message: str, remedy: str | None, details: Sequence[str] = ()) -> None:
    """Prints the fact, what more there is to it, and the remedy on stderr."""
    lines = [f"pyrr: {message}", *details]
    if remedy:
        lines.append(f"hint: {remedy}")
    print("\n".join(lines), file=sys.stderr, flush=True)
