# SPDX-License-Identifier: GPL-2.0-or-later
"""The enums of events' typed fields: what `csrc/include/pyrr_core.h` declares, in Python."""

from enum import IntEnum


class FieldTag(IntEnum):
    """Kinds of fields: enum prr_field_tag. Never renumbered."""

    SYSCALL = 1
    REGS_AFTER = 2
    XSTATE_AFTER = 3
    MAPPING = 4
    UNMAP = 5
    NEW_TASK = 6
    EXEC = 7
    SIGNAL = 8
    SIGINFO = 9
    INSTRUCTION = 10
    EXIT = 11
    FILE_CHANGE = 12
    PATCH = 13
    TEXT = 14
    ARGV = 15
    PAGE_HASHES = 16
    BRK = 17
    RLIMIT = 18
    ECHO = 19
    ECHO_FD = 20
    STORED_FILE = 21
    POINT = 22
    WORDS = 23
    PAGE = 24


class MappingKind(IntEnum):
    """What is behind a mapping: enum prr_mapping_kind."""

    ANON = 0
    FILE_PRIVATE = 1
    FILE_SHARED = 2
    ANON_SHARED = 3
    STACK = 4
    HEAP = 5


class SignalPlace(IntEnum):
    """Where in the task's run a signal took effect: enum prr_signal_place."""

    AT_EVENT = 0
    AT_ENTRY = 1
    AT_FAULT = 2


class SignalEffect(IntEnum):
    """What a signal did: enum prr_signal_effect."""

    HANDLER = 0
    IGNORED = 1
    FATAL = 2
    STOPPED = 3


class Instruction(IntEnum):
    """Instructions pyrr emulates: enum prr_instruction."""

    RDTSC = 1
    RDTSCP = 2
    CPUID = 3
    RDRAND = 4
    RDSEED = 5
    RDPID = 6


class PointMethod(IntEnum):
    """How the place of a PREEMPT is named: enum prr_point_method."""

    FINGERPRINT = 1
    COUNT = 2
