# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace directory: header, streams, stored files, and where traces are kept."""
