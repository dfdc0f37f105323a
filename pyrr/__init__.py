# SPDX-License-Identifier: GPL-2.0-or-later
"""pyrr records a Linux program once and replays that very run as often as you like."""

__version__ = "0.1.0"
