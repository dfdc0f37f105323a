# SPDX-License-Identifier: GPL-2.0-or-later
"""Only what pyproject.toml cannot say: the C core is built by cffi.

PYRR_CORE_IN_PLACE=1 leaves it out: scripts/setup.sh then builds it with
scripts/build_core.py, which compiles only what has changed.
"""

import os

from setuptools import setup

in_place = os.environ.get("PYRR_CORE_IN_PLACE") == "1"
setup(cffi_modules=[] if in_place else ["scripts/build_core.py:ffibuilder"])
