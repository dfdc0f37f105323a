# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording a program: the policy around the C core's record loop."""

from pyrr.record._recording import SLICE_NS, RecordOptions, RecordResult, record

__all__ = ["SLICE_NS", "RecordOptions", "RecordResult", "record"]
