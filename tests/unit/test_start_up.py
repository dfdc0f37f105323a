# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording begins at once: what takes long to import and is not needed stays out."""

import subprocess
import sys
import tomllib

import pytest

import pyrr
from tests.conftest import PROJECT

SLOW = ("pyrr.model", "importlib.metadata", "email", "uuid", "platform", "rich", "elftools")


@pytest.mark.parametrize("command", ["record", "replay"])
def test_slow_modules_stay_out(command: str) -> None:
    code = (
        "import sys; before = set(sys.modules); "
        f"import pyrr.cli.{command}; "
        "print(*(set(sys.modules) - before), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=PROJECT
    )
    loaded = done.stdout.splitlines()
    assert f"pyrr.cli.{command}" in loaded
    assert [name for name in loaded if name.startswith(SLOW)] == []


def test_there_is_one_version() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == pyrr.__version__
