# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr doctor`: what this machine or container lacks, and what helps."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from pyrr.cli import _table
from pyrr.cli._command import Command, Parser, PlainFailure
from pyrr.engine.probe_types import Finding, State
from pyrr.engine.probes import examine
from pyrr.trace.directory import trace_home

MISSING_EXIT_CODE = 3

EPILOG = """\
Every ability is really tried, on short-lived child processes. The exit status is 3 if
something that pyrr needs is missing, else 0.

examples:
  pyrr doctor
  pyrr doctor --json | jq '.[] | select(.state == "missing")'
"""


class Doctor(PlainFailure):
    """Examines this machine."""

    def __init__(self, engine: Callable[[Path], list[Finding]] = examine) -> None:
        self._engine = engine

    def parser(self) -> Parser:
        """Its argument parser."""
        parser = Parser(
            name="doctor",
            description="Checks each ability of the kernel, the container and the tools that pyrr\n"
            "uses: works, missing (with what helps) or not needed.",
            epilog=EPILOG,
        )
        parser.add_argument("--json", action="store_true", help="print a JSON list")
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Prints the findings."""
        findings = self._engine(trace_home())
        if options.json:
            print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
        else:
            _print(findings)
        lacking = any(finding.state is State.MISSING for finding in findings)
        return MISSING_EXIT_CODE if lacking else 0


def _print(findings: Sequence[Finding]) -> None:
    rows = [(finding.ability, finding.state, finding.detail) for finding in findings]
    _table.show(("ABILITY", "STATE", "DETAIL"), rows)
    missing = [finding for finding in findings if finding.state is State.MISSING]
    print()
    if not missing:
        print("This machine has all that pyrr needs.")
    for finding in missing:
        print(f"missing: {finding.ability}\n   hint: {finding.remedy}")
    for finding in findings:
        if finding.remedy and finding.state is not State.MISSING:
            print(f"optional: {finding.ability}\n   hint: {finding.remedy}")


COMMAND: Command = Doctor()
