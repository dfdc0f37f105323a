# SPDX-License-Identifier: GPL-2.0-or-later
"""`pyrr dump`: ranges, and events of a trace on disk."""

from pathlib import Path

import pytest

from pyrr.cli.dump import Span, parse_range, select, split
from pyrr.errors import UsageError
from pyrr.model.events import Event, EventKind, TaskUid
from pyrr.native import TraceReader, TraceWriter


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("7", Span(first=7, last=7)),
        ("7-9", Span(first=7, last=9)),
        ("7-", Span(first=7, last=None)),
        ("7-end", Span(first=7, last=None)),
        ("end", Span(first=None, last=None)),
    ],
)
def test_range(text: str, span: Span) -> None:
    assert parse_range(text) == span


@pytest.mark.parametrize("text", ["0", "9-7", "0-3", "end-3", "-3", "x"])
def test_senseless_range(text: str) -> None:
    with pytest.raises(UsageError, match="not a range"):
        parse_range(text)


def test_words_in_either_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split([]) == (Span(), None)
    assert split(["3"]) == (Span(first=3, last=3), None)
    assert split(["make-0"]) == (Span(), "make-0")
    assert split(["make-0", "end"]) == split(["end", "make-0"])
    (tmp_path / "12").mkdir()
    assert split(["12"]) == (Span(), "12")  # a directory of that name
    for words in (["1", "2"], ["a", "b"]):
        with pytest.raises(UsageError):
            split(words)


@pytest.fixture
def reader(tmp_path: Path) -> TraceReader:
    with TraceWriter(tmp_path) as writer:
        for _ in range(5):
            writer.append(Event(kind=EventKind.NOTE, task=TaskUid(tid=1, serial=1)))
    return TraceReader(tmp_path)


@pytest.mark.parametrize(
    ("span", "indexes"),
    [
        (Span(), [1, 2, 3, 4, 5]),
        (Span(first=2, last=3), [2, 3]),
        (Span(first=4), [4, 5]),
        (Span(first=None), [5]),
        (Span(first=9), []),
    ],
)
def test_select(reader: TraceReader, span: Span, indexes: list[int]) -> None:
    with reader:
        assert [event.index for event in select(reader, span)] == indexes
