# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors pyrr reports: a fact with its value, and the command or step that helps.

`pyrr.cli.main` catches `PyrrError` once and prints `pyrr: <message>` and
`hint: <remedy>`. `pyrr record` exits with 125 for most of them, since the recorded
program's own statuses must stay recognisable; other commands use `exit_code`.
"""

from typing import ClassVar


class PyrrError(Exception):
    """Something pyrr reports to its user.

    `message` is the fact with its value, without a full stop; `remedy` the exact command
    or step that helps, or None; `errno` that of a failed system call, else 0. `details`,
    which whoever passes the error on may set, are lines shown between the two.
    """

    default_exit_code: ClassVar[int] = 70

    def __init__(
        self,
        message: str,
        remedy: str | None = None,
        *,
        exit_code: int | None = None,
        errno: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.exit_code = self.default_exit_code if exit_code is None else exit_code
        self.errno = errno
        self.details: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles with every attribute (test workers send errors to each other)."""
        return type(self), (self.message, self.remedy), self.__dict__


class UsageError(PyrrError):
    """The command line asks for something that makes no sense."""

    default_exit_code = 2


class EnvironmentUnsupported(PyrrError):  # noqa: N818 - the project's word
    """The machine, kernel or container lacks something pyrr needs."""

    default_exit_code = 3


class SystemFailure(EnvironmentUnsupported):
    """A system call of the supervisor failed: a full disk, no memory, ..."""


class TraceError(PyrrError):
    """The trace is missing, damaged, of another version or of another CPU."""

    default_exit_code = 4


class Divergence(PyrrError):  # noqa: N818 - the project's word
    """Replay disagreed with the trace, at the event `event` (0: not known)."""

    default_exit_code = 5
    event: int = 0


class UnsupportedSyscall(PyrrError):  # noqa: N818 - the project's word
    """The tracee did what pyrr does not record."""

    default_exit_code = 125


class TraceeGone(PyrrError):  # noqa: N818 - the project's word
    """A tracee vanished: killed from outside."""

    default_exit_code = 125


class ProgramNotExecutable(PyrrError):  # noqa: N818 - the project's word
    """The program to record exists but could not be run."""

    default_exit_code = 126


class ProgramNotFound(PyrrError):  # noqa: N818 - the project's word
    """The program to record does not exist."""

    default_exit_code = 127


class InternalError(PyrrError):
    """A bug of pyrr's."""

    default_exit_code = 70
