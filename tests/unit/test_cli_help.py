# SPDX-License-Identifier: GPL-2.0-or-later
"""Help texts are what tests/golden says. Regenerate: PYRR_UPDATE_GOLDEN=1 pytest THIS."""

import os
from pathlib import Path

import pytest

from pyrr import cli

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
COMMANDS = {name: cli.load(name) for name in cli.SUMMARIES}


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
    compare("pyrr", cli.help_text())


@pytest.mark.parametrize("name", COMMANDS)
def test_command_help(name: str) -> None:
    compare(name, COMMANDS[name].parser().format_help())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_parse(name: str) -> None:
    text = COMMANDS[name].parser().format_help()
    _, _, examples = text.partition("\nexamples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    for line in lines:
        typed = line.partition("   ")[0].partition(" | ")[0].split()
        assert typed[0] == "pyrr"
        if typed[1] == name:
            COMMANDS[name].parser().parse_args(typed[2:])
