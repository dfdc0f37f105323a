# SPDX-License-Identifier: GPL-2.0-or-later
"""Thread affinity: Linux ties a tracee to the thread that traces it (ptrace(2))."""

import threading

from pyrr.errors import InternalError


class ThreadGuard:
    """Remembers the thread it was made in; `check` refuses every other one."""

    __slots__ = ("_ident", "_name", "_what")

    def __init__(self, what: str) -> None:
        thread = threading.current_thread()
        self._what = what
        self._ident = threading.get_native_id()
        self._name = thread.name

    def check(self) -> None:
        """Raises InternalError in a thread other than the maker's."""
        if threading.get_native_id() != self._ident:
            here = threading.current_thread().name
            raise InternalError(
                f"{self._what} belongs to thread {self._name!r} and was used by {here!r}"
            )
