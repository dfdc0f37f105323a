# SPDX-License-Identifier: GPL-2.0-or-later
"""Mode-free views over live tracees, and probes of what this machine can do."""
