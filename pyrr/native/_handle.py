# SPDX-License-Identifier: GPL-2.0-or-later
"""A C object owned by Python: made by a `_create`, freed by its `_destroy`."""

import os
from pathlib import Path
from typing import Any

from pyrr.errors import InternalError
from pyrr.native._pyrr_core import ffi
from pyrr.native._status import CData, check, error_slot
from pyrr.native._thread import ThreadGuard


class Handle:
    """Owns a C object and lends its pointer to the thread that made it."""

    __slots__ = ("_guard", "_pointer", "_what")

    def __init__(self, what: str, pointer: CData, destroy: CData) -> None:
        """Takes ownership; `what` names the object in messages."""
        self._what = what
        self._guard = ThreadGuard(what)
        self._pointer: Any = ffi.gc(pointer, destroy)

    @property
    def pointer(self) -> CData:
        """The C object; InternalError once closed or in another thread."""
        self._guard.check()
        if self._pointer is None:
            raise InternalError(f"{self._what} was used after it had been closed")
        return self._pointer

    def close(self) -> None:
        """Frees the C object; further calls do nothing."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            ffi.release(pointer)


def create_in(what: str, directory: Path, create: CData, destroy: CData) -> Handle:
    """A Handle from a `create(dir, **ret, *err)` function. Raises a PyrrError."""
    slot = ffi.new(ffi.typeof(create).args[1])
    with error_slot() as error:
        check(create(os.fsencode(directory), slot, error), error)
    return Handle(what, slot[0], destroy)
