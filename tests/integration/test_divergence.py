# SPDX-License-Identifier: GPL-2.0-or-later
"""What replay says when it disagrees with the trace: here, because the trace was changed.

Regenerate its golden files: PYRR_UPDATE_GOLDEN=1 pytest THIS.
"""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pyrr.model.events import Event
from pyrr.model.fields import PageHashesField, SyscallField
from tests.conftest import RunPyrr
from tests.support.compiling import CC
from tests.support.doctoring import doctored

SOURCE = Path(__file__).resolve().parent.parent / "support" / "no_libc.c"
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
STATUS = 7
DIVERGED = 5
ALARM = 37


@pytest.fixture
def trace(run_pyrr: RunPyrr, tmp_path: Path) -> Path:
    """A recording of four system calls."""
    program = tmp_path / "no_libc"
    subprocess.run(
        [CC, "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-o", program, SOURCE],
        check=True,
    )
    done = run_pyrr("record", "-o", tmp_path / "trace", program)
    assert (done.returncode, done.stdout, done.stderr) == (STATUS, b"hello\njello\n", b"")
    return tmp_path / "trace"


def number_of(event: Event) -> int | None:
    call = event.field(SyscallField)
    return call.nr if call else None


def with_field(event: Event, field: SyscallField | PageHashesField) -> Event:
    kept = tuple(field if old.tag == field.tag else old for old in event.fields)
    return replace(event, fields=kept)


def other_register(event: Event) -> Event:
    if number_of(event) != ALARM:
        return event
    return replace(event, regs=replace(event.regs, rbx=event.regs.rbx + 0x10))


def other_result(event: Event) -> Event:
    """The second write will get a length that the recording does not have."""
    if number_of(event) != ALARM:
        return event
    return with_field(event, SyscallField(result=12345, nr=ALARM, flags=0))


def other_page(event: Event) -> Event:
    """The last page is the top of the stack."""
    hashes = event.field(PageHashesField)
    if hashes is None:
        return event
    *others, (address, value) = hashes.pages
    return with_field(event, PageHashesField(pages=(*others, (address, value ^ 1))))


def normalised(text: str) -> str:
    """Without what each recording, compiler or linker makes different."""
    text = re.sub(r"0x[0-9a-f]+", "0xN", text)
    text = re.sub(r"\b\d+/1( ?) *", r"TID/1\1", text)
    text = re.sub(r"( \[map [^]]*\])+", " [map ...]", text)
    return re.sub(r'exec "[^"]*"', "exec PATH", text)


@pytest.mark.parametrize("change", [other_register, other_result, other_page])
def test_report(
    run_pyrr: RunPyrr, trace: Path, tmp_path: Path, change: Callable[[Event], Event]
) -> None:
    changed = doctored(trace, tmp_path / "changed", change)
    done = run_pyrr("replay", "-a", "--check=memory", changed)
    assert done.returncode == DIVERGED
    golden = GOLDEN / f"divergence-{change.__name__.replace('_', '-')}.txt"
    report = normalised(done.stderr.decode())
    if os.environ.get("PYRR_UPDATE_GOLDEN") == "1":
        golden.write_text(report)
    assert report == golden.read_text()


def test_a_doctored_trace_replays_where_nothing_was_changed(
    run_pyrr: RunPyrr, trace: Path, tmp_path: Path
) -> None:
    same = doctored(trace, tmp_path / "same", lambda event: event)
    done = run_pyrr("replay", "-a", "--check=memory", same)
    assert (done.returncode, done.stdout, done.stderr) == (STATUS, b"hello\njello\n", b"")


def test_memory_is_compared_only_when_asked_for(
    run_pyrr: RunPyrr, trace: Path, tmp_path: Path
) -> None:
    changed = doctored(trace, tmp_path / "changed", other_page)
    assert run_pyrr("replay", "-a", changed).returncode == STATUS
