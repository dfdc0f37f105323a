# SPDX-License-Identifier: GPL-2.0-or-later
"""main(): dispatch, and the one place that catches."""

import argparse

import pytest

from pyrr import cli, errors
from pyrr.cli._command import Parser, PlainFailure

MAKE_ROOM = "free disk space, or record to another disk: pyrr record -o DIR PROGRAM"


class Fake(PlainFailure):
    """A subcommand that remembers its arguments and does as told."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.seen: list[str] | None = None

    def parser(self) -> Parser:
        parser = Parser(name="fake", description="", epilog="")
        parser.add_argument("rest", nargs=argparse.REMAINDER)
        return parser

    def run(self, options: argparse.Namespace) -> int:
        self.seen = options.rest
        if self.error:
            raise self.error
        return 7


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fake]:
    known = {name: Fake() for name in ("record", "replay")}
    monkeypatch.setattr(cli, "load", known.__getitem__)
    return known


def test_subcommand_gets_the_rest(fakes: dict[str, Fake]) -> None:
    assert cli.main(["replay", "x", "-a"]) == 7
    assert fakes["replay"].seen == ["x", "-a"]


@pytest.mark.parametrize("arguments", [["sort", "-u"], ["./replay"], ["--", "-odd"]])
def test_anything_else_is_recorded(fakes: dict[str, Fake], arguments: list[str]) -> None:
    assert cli.main(arguments) == 7
    assert fakes["record"].seen == arguments


@pytest.mark.parametrize("asked", ["-h", "--help", "help"])
def test_help_goes_to_stdout(
    fakes: dict[str, Fake], asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([asked]) == 0
    assert "getting going" in capsys.readouterr().out


def test_nothing_at_all_is_a_usage_error(
    fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "getting going" in shown.err


def test_unknown_option(fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--frobnicate"]) == 2
    assert capsys.readouterr().err == ("pyrr: there is no option --frobnicate\nhint: pyrr --help\n")


def test_version(fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pyrr ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("m", "r"), 2),
        (errors.EnvironmentUnsupported("m", "r"), 3),
        (errors.TraceError("m", "r"), 4),
        (errors.Divergence("m", "r"), 5),
        (errors.InternalError("m", "r"), 70),
    ],
)
def test_errors_become_fact_and_remedy(
    fakes: dict[str, Fake],
    error: errors.PyrrError,
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fakes["replay"].error = error
    assert cli.main(["replay"]) == code
    assert capsys.readouterr() == ("", "pyrr: m\nhint: r\n")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.TraceError("m"), "pyrr: m\nhint: record the program again: pyrr record PROGRAM\n"),
        (errors.SystemFailure("m"), "pyrr: m\nhint: pyrr doctor\n"),
        (
            errors.SystemFailure("m", errno=28),
            f"pyrr: m\nhint: {MAKE_ROOM}\n",
        ),
        (errors.UnsupportedSyscall("m"), "pyrr: m\n"),
    ],
)
def test_error_without_remedy_gets_a_general_one(
    fakes: dict[str, Fake],
    error: errors.PyrrError,
    text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fakes["replay"].error = error
    cli.main(["replay"])
    assert capsys.readouterr().err == text


def test_mistyped_subcommand_is_guessed(
    fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]
) -> None:
    fakes["record"].error = errors.ProgramNotFound("relpay: no such program", "r")
    cli.main(["relpay"])
    assert capsys.readouterr().err == (
        "pyrr: relpay: no such program\nhint: did you mean `pyrr replay`?\n"
    )


def test_other_exceptions_are_internal_errors(
    fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]
) -> None:
    fakes["replay"].error = ValueError("odd")
    assert cli.main(["replay"]) == 70
    assert "pyrr: internal error: ValueError: odd" in capsys.readouterr().err


def test_interrupt_is_quiet(fakes: dict[str, Fake], capsys: pytest.CaptureFixture[str]) -> None:
    fakes["replay"].error = KeyboardInterrupt()
    assert cli.main(["replay"]) == 130
    assert capsys.readouterr().err == ""
