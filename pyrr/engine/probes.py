# SPDX-License-Identifier: GPL-2.0-or-later
"""All probes in the order in which `pyrr doctor` shows them."""

from pathlib import Path

from pyrr.engine import probe_cpu, probe_host, probe_trace
from pyrr.engine.probe_types import Finding, Probe, find


def all_probes(trace_home: Path) -> tuple[Probe, ...]:
    """The explicit list; `trace_home` is where traces are written."""
    return (
        *probe_host.PROBES,
        *probe_trace.PROBES,
        *probe_cpu.PROBES,
        *probe_host.EXTRAS,
        probe_host.space_probe(trace_home),
    )


def examine(trace_home: Path) -> list[Finding]:
    """Tries every ability on this machine. Forks short-lived children."""
    return [find(probe) for probe in all_probes(trace_home)]
