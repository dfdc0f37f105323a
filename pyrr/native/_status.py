# SPDX-License-Identifier: GPL-2.0-or-later
"""The one map from the C core's `enum prr_status` to exceptions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyrr import errors
from pyrr.native._pyrr_core import ffi, lib

CData = Any
"""A cffi object: a pointer, struct or function of the C core."""

OK: int = lib.PRR_OK
END: int = lib.PRR_END

EXCEPTIONS: dict[int, type[errors.PyrrError]] = {
    lib.PRR_ERR_SYSTEM: errors.SystemFailure,
    lib.PRR_ERR_ENVIRONMENT: errors.EnvironmentUnsupported,
    lib.PRR_ERR_TRACE: errors.TraceError,
    lib.PRR_ERR_DIVERGENCE: errors.Divergence,
    lib.PRR_ERR_UNSUPPORTED: errors.UnsupportedSyscall,
    lib.PRR_ERR_TRACEE_GONE: errors.TraceeGone,
    lib.PRR_ERR_NOT_FOUND: errors.ProgramNotFound,
    lib.PRR_ERR_NOT_EXECUTABLE: errors.ProgramNotExecutable,
    lib.PRR_ERR_INTERNAL: errors.InternalError,
}


def text(pointer: CData) -> str | None:
    """A C string as str (undecodable bytes as escapes), None for NULL."""
    if pointer == ffi.NULL:
        return None
    return bytes(ffi.string(pointer)).decode("utf-8", "backslashreplace")


def exception(error: CData) -> errors.PyrrError:
    """The exception for a filled `struct prr_error`."""
    status = int(error.status)
    message = text(error.message) or f"the C core failed with status {status}"
    kind = EXCEPTIONS.get(status, errors.InternalError)
    return kind(message, text(error.remedy), errno=int(error.errnum))


@contextmanager
def error_slot() -> Iterator[CData]:
    """A `struct prr_error *` for one call or several, freed at the end."""
    error = ffi.new("struct prr_error *")
    lib.prr_error_init(error)
    try:
        yield error
    finally:
        lib.prr_error_deinit(error)


def check(status: int, error: CData) -> int:
    """Raises the matching PyrrError unless the status is OK or END; returns it."""
    if status in {OK, END}:
        return status
    raise exception(error)
