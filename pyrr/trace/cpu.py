# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a trace of one CPU can be replayed on another (PITFALLS A16)."""

from pyrr.errors import TraceError
from pyrr.trace.format import CpuFacts

# Registers that hold feature bits only, by (leaf, subleaf): Intel SDM vol. 2A, CPUID;
# AMD APM vol. 3, appendix E. ebx of leaf 1 holds the APIC id.
FEATURE_REGISTERS: dict[tuple[int, int], tuple[str, ...]] = {
    (1, 0): ("ecx", "edx"),
    (7, 0): ("ebx", "ecx", "edx"),
    (7, 1): ("eax", "edx"),
    (0xD, 1): ("eax",),
    (0x80000001, 0): ("ecx", "edx"),
}
IDENTITY = ("vendor", "family", "model")
EXACT = ("xcr0", "xsave_size", "mxcsr_mask")


def check_same_cpu(recorded: CpuFacts, here: CpuFacts) -> None:
    """Raises TraceError if a replay `here` could go differently, naming the first reason.

    Steppings and names may differ, and `here` may have more features. Facts that either
    side does not know (0) are not compared.
    """
    for name in IDENTITY:
        if getattr(recorded, name) != getattr(here, name):
            raise _other(f"recorded on {describe(recorded)}; this is {describe(here)}")
    for name in EXACT:
        then, now = getattr(recorded, name), getattr(here, name)
        if then and now and then != now:
            raise _other(f"recorded with {name} {then:#x}; here it is {now:#x}")
    missing = missing_features(recorded, here)
    if missing:
        raise _other(f"recorded with CPU features that are missing here: {', '.join(missing)}")


def describe(cpu: CpuFacts) -> str:
    """`AuthenticAMD family 25 model 17 (AMD EPYC ...)`."""
    name = f" ({cpu.name})" if cpu.name else ""
    return f"{cpu.vendor} family {cpu.family} model {cpu.model}{name}"


def missing_features(recorded: CpuFacts, here: CpuFacts) -> list[str]:
    """Feature bits of the recording that this CPU lacks, as `cpuid(7,0).ebx bit 16`."""
    now = {(leaf.leaf, leaf.subleaf): leaf for leaf in here.leaves}
    found = []
    for then in recorded.leaves:
        other = now.get((then.leaf, then.subleaf))
        for register in FEATURE_REGISTERS.get((then.leaf, then.subleaf), ()) if other else ():
            lost = getattr(then, register) & ~getattr(other, register)
            found += [
                f"cpuid({then.leaf:#x},{then.subleaf}).{register} bit {bit}"
                for bit in range(32)
                if lost >> bit & 1
            ]
    return found


def _other(fact: str) -> TraceError:
    return TraceError(f"the trace is of another CPU: {fact}", "replay it on the CPU named first")


def cpu_from_cpuinfo(text: str) -> CpuFacts:
    """What the first processor of /proc/cpuinfo says; no leaves, no state sizes."""
    first = text.partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    known = {key.strip(): value.strip() for key, _, value in pairs}

    def number(key: str) -> int:
        value = known.get(key, "")
        return int(value) if value.isdecimal() else 0

    return CpuFacts(
        vendor=known.get("vendor_id", ""),
        family=number("cpu family"),
        model=number("model"),
        stepping=number("stepping"),
        name=known.get("model name", ""),
    )
