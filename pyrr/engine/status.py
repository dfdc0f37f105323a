# SPDX-License-Identifier: GPL-2.0-or-later
"""Wait statuses as shells show them."""

import os

SIGNALLED = 128


def exit_code_of(status: int) -> int:
    """The exit status, or 128+N where signal N ended the program."""
    if os.WIFSIGNALED(status):
        return SIGNALLED + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)
