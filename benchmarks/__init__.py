# SPDX-License-Identifier: GPL-2.0-or-later
"""Measurements of cost; run them by scripts/bench."""
