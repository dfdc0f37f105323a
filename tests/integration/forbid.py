# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in which some system calls fail, as container profiles do.

forbid.py NUMBER[=ERRNO][,NUMBER...] COMMAND ARGUMENTS...      ERRNO: EPERM if not given
"""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_RET_ERRNO = 0x00050000
EPERM = 1


def instruction(code: int, jump_true: int, jump_false: int, operand: int) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, operand)


def install(answers: dict[int, int]) -> None:
    load_number, jump_equal, ret = 0x20, 0x15, 0x06
    program = [instruction(load_number, 0, 0, 0)]
    for number, error in answers.items():
        program.append(instruction(jump_equal, 0, 1, number))
        program.append(instruction(ret, 0, 0, SECCOMP_RET_ERRNO | error))
    program.append(instruction(ret, 0, 0, SECCOMP_RET_ALLOW))
    instructions = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(instructions))
    holder = ctypes.create_string_buffer(header, len(header))
    libc = ctypes.CDLL(None, use_errno=True)
    ok = libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if not ok or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, holder, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot install the filter")


def parse(words: str) -> dict[int, int]:
    pairs = (word.partition("=") for word in words.split(","))
    return {int(number): int(error or EPERM) for number, _, error in pairs}


if __name__ == "__main__":
    install(parse(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
