# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings from outcomes; and the real probes in a process of their own."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pyrr.cli.doctor import Doctor
from pyrr.engine.probe_types import Finding, Need, Outcome, Probe, State, find


def probe(outcome: Outcome | OSError, need: Need = Need.REQUIRED) -> Probe:
    def attempt() -> Outcome:
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    return Probe(ability="a", purpose="it is used", need=need, attempt=attempt, remedy="do this")


def test_findings() -> None:
    works = Outcome(works=True, detail="fine")
    lacks = Outcome(works=False, detail="no")
    refused = OSError(errno.EPERM, "Operation not permitted")
    assert find(probe(works)) == Finding(ability="a", state=State.WORKS, detail="fine")
    assert find(probe(lacks)).remedy == "do this"
    assert find(probe(lacks)).state is State.MISSING
    assert find(probe(refused)).detail == "Operation not permitted; it is used"
    optional = find(probe(lacks, Need.OPTIONAL))
    assert (optional.state, optional.remedy) == (State.NOT_NEEDED, None)


def test_doctor_says_what_is_missing(trace_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = Finding(ability="b", state=State.MISSING, detail="no", remedy="do this")
    fine = Finding(ability="a", state=State.WORKS, detail="ok")
    doctor = Doctor(lambda home: [fine, missing])
    assert doctor.run(doctor.parser().parse_args([])) == 3
    assert capsys.readouterr().out == (
        "ABILITY  STATE    DETAIL\n"
        "a        works    ok\n"
        "b        missing  no\n"
        "\n"
        "missing: b\n"
        "   hint: do this\n"
    )


def test_doctor_says_what_would_help_further(
    trace_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    better = find(probe(Outcome(works=True, detail="ok", remedy="do this"), Need.OPTIONAL))
    doctor = Doctor(lambda home: [better])
    assert doctor.run(doctor.parser().parse_args([])) == 0
    assert capsys.readouterr().out.endswith(
        "This machine has all that pyrr needs.\noptional: a\n   hint: do this\n"
    )


def test_doctor_is_content(trace_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor = Doctor(lambda home: [Finding(ability="a", state=State.WORKS, detail="ok")])
    assert doctor.run(doctor.parser().parse_args(["--json"])) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"ability": "a", "state": "works", "detail": "ok", "remedy": None}
    ]


def test_real_probes_end_and_explain_themselves(trace_home: Path) -> None:
    """Forks, so in a process without threads. The tests need what pyrr needs: all of it."""
    done = subprocess.run(
        [sys.executable, "-m", "pyrr", "doctor", "--json"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    findings = json.loads(done.stdout)
    lacking = [finding for finding in findings if finding["state"] == "missing"]
    assert all(finding["remedy"] for finding in lacking)
    assert lacking == []
    assert done.returncode == 0
    assert len({finding["ability"] for finding in findings}) == len(findings) > 20
