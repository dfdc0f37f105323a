# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact points of a recording, and their order."""

from pyrr.timeline._marks import Mark, Position
from pyrr.timeline._timeline import Timeline

__all__ = ["Mark", "Position", "Timeline"]
