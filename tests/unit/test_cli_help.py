# SPDX-License-Identifier: GPL-2.0-or-later
"""Help texts are what tests/golden says. Regenerate: PYRR_UPDATE_GOLDEN=1 pytest THIS."""

import os
from pathlib import Path

import pytest

from pyrr import cli
from pyrr.cli._command import Command

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
COMMANDS = {command.name: command for command in cli.commands()}


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"help-{name}.txt"
    if os.environ.get("PYRR_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        "regenerate: PYRR_UPDATE_GOLDEN=1 python -m pytest tests/unit/test_cli_help.py"
    )


def test_main_help() -> None:
    compare("pyrr", cli.help_text(cli.commands()))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_command_help(command: Command) -> None:
    text = command.parser().format_help()
    # Python 3.13 shows options with arguments differently; compare what is ours.
    compare(command.name, text)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_help_has_examples_that_parse(command: Command) -> None:
    text = command.parser().format_help()
    _, _, examples = text.partition("\nexamples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        typed = line.partition("   ")[0].partition(" | ")[0].split()
        assert typed[0] == "pyrr"
        if typed[1] == command.name:
            command.parser().parse_args(typed[2:])
