# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU of this machine, as traces describe it (PITFALLS A16)."""

from dataclasses import replace
from pathlib import Path

from pyrr.native import cpu_leaf, cpu_state
from pyrr.trace.cpu import FEATURE_REGISTERS, cpu_from_cpuinfo
from pyrr.trace.format import CpuFacts, CpuidLeaf

CPUINFO = Path("/proc/cpuinfo")


def _leaf(leaf: int, subleaf: int) -> CpuidLeaf:
    eax, ebx, ecx, edx = cpu_leaf(leaf, subleaf)
    return CpuidLeaf(leaf=leaf, subleaf=subleaf, eax=eax, ebx=ebx, ecx=ecx, edx=edx)


def this_cpu() -> CpuFacts:
    """What a recording made here says of its CPU."""
    named = cpu_from_cpuinfo(CPUINFO.read_text(encoding="ascii", errors="replace"))
    xcr0, xsave_size, mxcsr_mask = cpu_state()
    return replace(
        named,
        xcr0=xcr0,
        xsave_size=xsave_size,
        mxcsr_mask=mxcsr_mask,
        leaves=tuple(_leaf(*key) for key in sorted(FEATURE_REGISTERS)),
    )
