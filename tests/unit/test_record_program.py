# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file a command names."""

from pathlib import Path

import pytest

from pyrr.errors import ProgramNotExecutable, ProgramNotFound
from pyrr.record._program import resolve


def script(path: Path, mode: int = 0o755) -> str:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def test_the_first_executable_one_in_path_wins(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    script(tmp_path / "a/tool", 0o644)
    wanted = script(tmp_path / "b/tool")
    assert resolve("tool", f"{tmp_path}/a:{tmp_path}/b") == wanted


def test_a_path_directory_that_cannot_be_searched_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = script(tmp_path / "tool")
    stat = Path.stat

    def refusing(path: Path, **options: bool) -> object:
        if path.parts[:2] == ("/", "forbidden"):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refusing)
    assert resolve("tool", f"/forbidden:{tmp_path}") == wanted


def test_missing_and_not_executable(tmp_path: Path) -> None:
    with pytest.raises(ProgramNotFound):
        resolve("tool", str(tmp_path))
    with pytest.raises(ProgramNotExecutable):
        resolve(script(tmp_path / "tool", 0o644), "")
