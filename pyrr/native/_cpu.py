# SPDX-License-Identifier: GPL-2.0-or-later
"""What the C core says of this CPU."""

from pyrr.native._pyrr_core import ffi, lib


def cpu_state() -> tuple[int, int, int]:
    """XCR0, bytes of a full XSAVE area, valid bits of MXCSR; 0 where there is no XSAVE."""
    state = ffi.new("struct prr_cpu_state *")
    lib.prr_cpu_state(state)
    return int(state.xcr0), int(state.xsave_size), int(state.mxcsr_mask)


def cpu_leaf(leaf: int, subleaf: int) -> tuple[int, int, int, int]:
    """eax, ebx, ecx, edx as a recorded program gets them from cpuid."""
    answer = ffi.new("struct prr_cpuid_answer *")
    lib.prr_cpu_leaf(leaf, subleaf, answer)
    return int(answer.eax), int(answer.ebx), int(answer.ecx), int(answer.edx)
