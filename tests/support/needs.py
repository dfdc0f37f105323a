# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test needs of the machine, and why it is skipped where that is missing."""

import os
import re
import shutil
from pathlib import Path


def cpu_flags() -> frozenset[str]:
    """The CPU's feature names as /proc/cpuinfo spells them."""
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return frozenset(match.group(1).split()) if match else frozenset()


def missing(need: str) -> str | None:
    """Why a need is not met; None if it is. Raises ValueError for an unknown need.

    `cpu:FLAG`, `command:NAME`, `file:PATH`, `root`, `vsyscall`.
    """
    kind, _, what = need.partition(":")
    match kind:
        case "cpu":
            return None if what in cpu_flags() else f"this CPU has no {what}"
        case "command":
            return None if shutil.which(what) else f"{what} is not installed"
        case "file":
            return None if Path(what).exists() else f"there is no {what}"
        case "root":
            return None if os.geteuid() == 0 else "needs root"
        case "vsyscall":
            has_page = "[vsyscall]" in Path("/proc/self/maps").read_text()
            return None if has_page else "this kernel has no vsyscall page"
        case _:
            raise ValueError(f"unknown need {need!r}")
