# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries what makes time, randomness and the CPU's identity the same in a replay."""

import ctypes
import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

from pyrr.engine import probe_child as raw
from pyrr.engine.clock import Wish, choose
from pyrr.engine.probe_types import Need, Outcome, Probe

SYS_MUNMAP = 11
SYS_ARCH_PRCTL = 158
SYS_PRCTL = 157
PR_SET_TSC = 26
PR_TSC_SIGSEGV = 2
ARCH_CPUID_SET = 0x1012
READ_EXECUTE = 1 | 4
RDTSC_RET = b"\x0f\x31\xc3"
CPUID_RET = b"\x53\x31\xc0\x0f\xa2\x5b\xc3"  # push rbx; xor eax,eax; cpuid; pop rbx; ret


def _run_code(code: bytes) -> None:
    """Executes machine code in this process (a trial child)."""
    address = raw.map_page(READ_EXECUTE, code)
    ctypes.CFUNCTYPE(None)(address)()


def _faults(prepare: Callable[[], object], code: bytes) -> bool:
    def body() -> None:
        prepare()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        _run_code(code)

    status = raw.outcome_of(body)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV


def _tsc() -> Outcome:
    works = _faults(lambda: raw.syscall(SYS_PRCTL, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), RDTSC_RET)
    detail = "rdtsc faults when asked to" if works else "rdtsc does not fault"
    return Outcome(works=works, detail=detail)


def _cpuid_faulting() -> Outcome:
    try:
        works = _faults(lambda: raw.syscall(SYS_ARCH_PRCTL, ARCH_CPUID_SET, 0), CPUID_RET)
    except OSError as failed:
        if failed.errno != errno.ENODEV:
            raise
        return Outcome(works=False, detail="this CPU or hypervisor has none")
    return Outcome(works=works, detail="cpuid faults when asked to")


def _vdso_range() -> tuple[int, int] | None:
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if line.endswith("[vdso]"):
            start, end = line.split()[0].split("-")
            return int(start, 16), int(end, 16)
    return None


def _vdso() -> Outcome:
    span = _vdso_range()
    if span is None:
        return Outcome(works=True, detail="there is none")
    raw.outcome_of(lambda: raw.syscall(SYS_MUNMAP, span[0], span[1] - span[0]))
    return Outcome(works=True, detail="it can be unmapped")


def _clock() -> Outcome:
    """Never missing: where the PMU is of no use, the probe clock serves."""
    choice = choose(Wish.AUTO)
    return Outcome(works=True, detail=str(choice), remedy=choice.remedy or None)


PROBES = (
    Probe(
        ability="rdtsc can be trapped",
        purpose="else a program's time-stamp reads could not be recorded",
        need=Need.REQUIRED,
        attempt=_tsc,
        remedy="use a kernel that has prctl(PR_SET_TSC) on x86: Linux >= 2.6.26, not gVisor",
    ),
    Probe(
        ability="vDSO can be unmapped",
        purpose="else clock reads bypass the kernel",
        need=Need.REQUIRED,
        attempt=_vdso,
        remedy="use a kernel built without CONFIG_MSEAL_SYSTEM_MAPPINGS",
    ),
    Probe(
        ability="CPUID faulting",
        purpose="cpuid instructions are patched instead",
        need=Need.OPTIONAL,
        attempt=_cpuid_faulting,
        remedy="",
    ),
    Probe(
        ability="clock",
        purpose="",
        need=Need.OPTIONAL,
        attempt=_clock,
        remedy="",
    ),
)
