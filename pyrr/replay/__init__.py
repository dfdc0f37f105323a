# SPDX-License-Identifier: GPL-2.0-or-later
"""Replaying a trace: the policy around the C core's replay loop."""

from pyrr.replay._replaying import ReplayOptions, ReplayResult, core_for, replay

__all__ = ["ReplayOptions", "ReplayResult", "core_for", "replay"]
