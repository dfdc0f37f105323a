# SPDX-License-Identifier: GPL-2.0-or-later
"""The file store of a trace: the contents of mapped files, `files/1`, `files/2`, ...

A file is stored by reflink where the file system can; else as a hard link to a copy in
the per-user cache; else as a copy of its own. Never as a link to the user's file.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pyrr.errors import EnvironmentUnsupported
from pyrr.trace._copy import clone, copy
from pyrr.trace.cache import FileCache, FileIdentity, cache_home
from pyrr.trace.format import STORE_DIRECTORY, reported


def user_cache() -> FileCache | None:
    """The user's cache; None where there can be none."""
    try:
        return FileCache(cache_home())
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


class FileStore:
    """Stores files in the trace that is being recorded."""

    def __init__(self, trace: Path, cache: FileCache | None = None) -> None:
        """Makes the store's directory. SystemFailure where that fails.

        Without a cache every file that cannot be reflinked is copied.
        """
        self._directory = trace / STORE_DIRECTORY
        with reported(f"making {self._directory}"):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            dev = self._directory.stat().st_dev
        # Linking works within a file system only.
        self._cache = cache if cache is not None and cache.dev == dev else None
        self._last = max((int(p.name) for p in self._stored()), default=0)
        self._uncloneable: set[int] = set()

    def _stored(self) -> Iterator[Path]:
        return (path for path in self._directory.iterdir() if path.name.isdecimal())

    def path(self, store_id: int) -> Path:
        """Where a stored file is."""
        return self._directory / str(store_id)

    def add(
        self, path: Path, identity: FileIdentity, *, cacheable: bool, name: str | None = None
    ) -> int:
        """Stores the contents of the file that `path` opens; returns its store id (from 1).

        `name` is what messages call it, if not `path`. `identity` is that of the file
        when it was mapped. `cacheable` says that equal identity means equal contents (not
        so for a file that somebody may write through a shared mapping, or that changed a
        moment ago). Raises EnvironmentUnsupported where the file cannot be read and
        SystemFailure where it cannot be stored.
        """
        shown = name or str(path)
        with _opened(path, shown) as source, reported(f"storing a copy of {shown}"):
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):
                raise EnvironmentUnsupported(f"the mapped file {shown} is not a regular file")
            store_id = self._last + 1
            usable = cacheable and FileIdentity.of(status) == identity
            target = self.path(store_id)
            if not self._reflink(source, status.st_dev, target) and not (
                usable and self._link_cached(source, identity, target)
            ):
                self._copy(source, target)
            self._last = store_id
        return store_id

    def _reflink(self, source: int, dev: int, target: Path) -> bool:
        if dev in self._uncloneable:
            return False
        with _new_file(target) as handle:
            done = clone(source, handle)
            if not done:
                target.unlink()
                self._uncloneable.add(dev)
        return done

    def _link_cached(self, source: int, identity: FileIdentity, target: Path) -> bool:
        if self._cache is None:
            return False
        try:
            content = self._cache.find(identity) or self._cache.add(identity, source)
            if content is not None:
                os.link(content, target)
        except OSError:  # a full or read-only cache, an eviction meanwhile, too many links
            return False
        return content is not None

    def _copy(self, source: int, target: Path) -> None:
        with _new_file(target) as handle:
            copy(source, handle)


@contextlib.contextmanager
def _opened(path: Path, shown: str) -> Iterator[int]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as failed:
        raise EnvironmentUnsupported(
            f"the mapped file {shown} cannot be read: {failed.strerror}",
            f"make it readable, e.g.: chmod u+r {shown}",
            errno=failed.errno or 0,
        ) from failed
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _new_file(target: Path) -> Iterator[int]:
    """Makes a read-only file, open for writing here; removed if the block raises."""
    handle = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
    try:
        yield handle
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
