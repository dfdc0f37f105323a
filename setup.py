# SPDX-License-Identifier: GPL-2.0-or-later
"""Only what pyproject.toml cannot say: the C core is built by cffi."""

from setuptools import setup

setup(cffi_modules=["scripts/build_core.py:ffibuilder"])
