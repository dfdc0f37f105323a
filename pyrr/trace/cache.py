# SPDX-License-Identifier: GPL-2.0-or-later
"""The per-user cache of file contents that traces share.

    content/HASH       a file's bytes, read-only; traces hold hard links to it
    identity/NAME      for a file's identity: "HASH MTIME_NS" of the content

Only the cache's own copies are ever linked, never a user's file: an in-place write would
change what was recorded (PITFALLS A18). A copy whose size or modification time is not as
it was written is not used. Everything here may fail without harm: the caller copies then.
Several recordings may use one cache at once; all changes are renames and unlinks.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pyrr.trace._copy import copy_hashing

LIMIT = 4 << 30
"""Bytes the cache may hold, unless told otherwise."""
LARGEST_SHARE = 4
"""A file larger than 1/LARGEST_SHARE of the limit is not cached."""
KEEP_PARTS = (4, 5)
"""Eviction goes on until this part of the limit is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """Which contents a file has, as far as the kernel tells: equal identity, equal bytes."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """From stat()."""
        return cls(
            dev=status.st_dev,
            ino=status.st_ino,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            ctime_ns=status.st_ctime_ns,
        )

    @property
    def name(self) -> str:
        """A file name for it."""
        return f"{self.dev:x}-{self.ino:x}-{self.size:x}-{self.mtime_ns:x}-{self.ctime_ns:x}"


def cache_home(environment: Mapping[str, str] = os.environ) -> Path:
    """$XDG_CACHE_HOME/pyrr, else ~/.cache/pyrr."""
    if chosen := environment.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute() / "pyrr"
    return Path.home() / ".cache/pyrr"


class FileCache:
    """File contents by identity and by hash. Methods raise OSError where the disk does."""

    def __init__(self, home: Path, *, limit: int = LIMIT) -> None:
        """Makes the directories. OSError where they cannot be made or are not ours."""
        self._limit = limit
        self._content = home / "content"
        self._identity = home / "identity"
        self._used: int | None = None
        for directory in (home, self._content, self._identity):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = directory.stat()
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise PermissionError(f"{directory} can be written by others")
        self.dev = self._content.stat().st_dev

    def find(self, identity: FileIdentity) -> Path | None:
        """The cached contents for an identity; they may vanish at any time."""
        try:
            digest, stamp = (self._identity / identity.name).read_text("ascii").split()
            content = self._content / digest
            status = content.stat(follow_symlinks=False)
            if status.st_size != identity.size or str(status.st_mtime_ns) != stamp:
                content.unlink()  # somebody changed it
                return None
            os.utime(content, ns=(time.time_ns(), status.st_mtime_ns))
        except (OSError, ValueError):
            return None
        return content

    def add(self, identity: FileIdentity, source: int) -> Path | None:
        """Takes in an open file; None if it is too large or changes meanwhile."""
        if identity.size * LARGEST_SHARE > self._limit:
            return None
        with self._temporary(self._content) as (handle, name):
            digest = copy_hashing(source, handle)
            os.fchmod(handle, 0o400)
            if FileIdentity.of(os.fstat(source)) != identity:
                return None
            content = self._content / digest
            if not content.exists():
                name.rename(content)
            status = content.stat()
        if status.st_size != identity.size:
            return None
        with self._temporary(self._identity) as (handle, name):
            os.write(handle, f"{digest} {status.st_mtime_ns}\n".encode("ascii"))
            name.rename(self._identity / identity.name)
        self._count(status.st_blocks * 512)
        return content

    @contextlib.contextmanager
    def _temporary(self, directory: Path) -> Iterator[tuple[int, Path]]:
        """A new file, open for writing; removed at the end unless it was renamed."""
        handle, name = tempfile.mkstemp(prefix=".new-", dir=directory)
        try:
            yield handle, Path(name)
        finally:
            os.close(handle)
            with contextlib.suppress(OSError):
                Path(name).unlink()

    def _count(self, added: int) -> None:
        """Keeps the sum of sizes, and evicts when it is over the limit."""
        if self._used is None:
            self._used = sum(size for _, size, _ in self._contents())
        else:
            self._used += added
        if self._used > self._limit:
            self._evict()

    def _contents(self) -> list[tuple[int, int, Path]]:
        """(last use, bytes on disk, path) of each cached file."""
        found = []
        with os.scandir(self._content) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_atime_ns, status.st_blocks * 512, Path(entry.path)))
        return found

    def _evict(self) -> None:
        """Removes what was not used for longest, and identities left without contents."""
        contents = self._contents()
        used = sum(size for _, size, _ in contents)
        keep = self._limit * KEEP_PARTS[0] // KEEP_PARTS[1]
        for _, size, path in sorted(contents):
            if used <= keep:
                break
            path.unlink(missing_ok=True)
            used -= size
        self._used = used
        left = {entry.name for entry in os.scandir(self._content)}
        for identity in self._identity.iterdir():
            with contextlib.suppress(OSError, ValueError):
                if identity.read_text("ascii").partition(" ")[0] not in left:
                    identity.unlink()
