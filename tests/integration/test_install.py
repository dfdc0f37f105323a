# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pip install .` gives: a source archive that builds, and a `pyrr` that works."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.conftest import PROJECT

NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.so", "*.egg-info", "__pycache__", ".*_cache", "tests"
)
BUILD = "from setuptools.build_meta import build_sdist; build_sdist('dist')"


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_source_archive_installs_and_works(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(PROJECT, source, ignore=NOT_SOURCE)
    run(sys.executable, "-c", BUILD, cwd=source)
    (archive,) = (source / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as contents:
        names = {name.partition("/")[2] for name in contents.getnames()}
    assert {"LICENSE", "csrc/include/pyrr_core.h", "scripts/build_core.py"} <= names
    assert not [name for name in names if name.endswith((".so", ".o"))]

    site = tmp_path / "site"
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
    run(*install, "--no-build-isolation", "--target", site, archive, cwd=tmp_path)
    env = {**os.environ, "PYTHONPATH": str(site), "PYRR_TRACE_DIR": str(tmp_path / "traces")}
    where = run(sys.executable, "-c", "import pyrr; print(pyrr.__file__)", cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(site)
    assert (site / "bin/pyrr").exists()
    run(sys.executable, "-m", "pyrr", "record", "true", cwd=tmp_path, env=env)
    run(sys.executable, "-m", "pyrr", "replay", "-a", cwd=tmp_path, env=env)
