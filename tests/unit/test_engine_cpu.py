# SPDX-License-Identifier: GPL-2.0-or-later
"""What traces say of this machine's CPU."""

from pyrr.engine.cpu import this_cpu
from pyrr.trace.cpu import FEATURE_REGISTERS, check_same_cpu

SSE_STATE = 0b11
RDRAND, RDSEED = 1 << 30, 1 << 18


def test_all_facts_are_known() -> None:
    cpu = this_cpu()
    assert cpu.vendor
    assert cpu.mxcsr_mask & 0xFFBF == 0xFFBF
    assert cpu.xcr0 == 0 or cpu.xcr0 & SSE_STATE == SSE_STATE
    assert {(leaf.leaf, leaf.subleaf) for leaf in cpu.leaves} == set(FEATURE_REGISTERS)


def test_masked_features_are_not_promised() -> None:
    leaves = {(leaf.leaf, leaf.subleaf): leaf for leaf in this_cpu().leaves}
    assert not leaves[1, 0].ecx & RDRAND
    assert not leaves[7, 0].ebx & RDSEED


def test_a_machine_replays_its_own_traces() -> None:
    check_same_cpu(this_cpu(), this_cpu())
