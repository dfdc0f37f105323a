# SPDX-License-Identifier: GPL-2.0-or-later
"""Copying files: by reflink, else byte by byte with their holes kept."""

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator

FICLONE = 0x40049409
"""ioctl: _IOW(0x94, 9, int), <linux/fs.h>. Since Linux 4.5 (btrfs, XFS, bcachefs, ...)."""
CHUNK = 1 << 20
NO_CLONE = frozenset(
    {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM, errno.ENOSYS}
    | {errno.ETXTBSY, errno.EBADF, errno.EISDIR}
)


def clone(source: int, target: int) -> bool:
    """Makes the file `target` share all of `source`'s blocks; False where that cannot be."""
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError as failed:
        if failed.errno in NO_CLONE:
            return False
        raise
    return True


def extents(handle: int) -> Iterator[tuple[int, int]]:
    """(offset, end) of each stretch of a file that is not a hole, in order.

    Where the file system knows no holes this is the whole file. Moves the file position.
    """
    size = os.fstat(handle).st_size
    offset = 0
    while offset < size:
        try:
            start = os.lseek(handle, offset, os.SEEK_DATA)
            end = os.lseek(handle, start, os.SEEK_HOLE)
        except OSError as failed:
            if failed.errno == errno.ENXIO:  # a hole up to the end
                return
            if failed.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
                raise
            start, end = offset, size
        yield start, min(end, size)
        offset = end


def copy(source: int, target: int) -> None:
    """Copies a file into an empty one, holes as holes. Raises OSError."""
    size = os.fstat(source).st_size
    for start, end in extents(source):
        _copy_range(source, target, start, end)
    os.ftruncate(target, size)


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        count = 0
        with contextlib.suppress(OSError):  # not between these file systems, or not at all
            count = os.copy_file_range(source, target, end - start, start, start)
        if not count:
            data = os.pread(source, min(CHUNK, end - start), start)
            if not data:
                return  # the source was cut short meanwhile
            write_all(target, data, start)
            count = len(data)
        start += count


def copy_hashing(source: int, target: int) -> str:
    """Copies like `copy`; returns a hash that equal contents alone have in common.

    It covers the size and each stretch of data with its place, so two files that differ
    only in where their zeros are holes may have different hashes.
    """
    digest = hashlib.sha256()
    for start, end in extents(source):
        digest.update(struct.pack("<QQ", start, end - start))
        offset = start
        while offset < end:
            data = os.pread(source, min(CHUNK, end - offset), offset)
            if not data:
                break
            digest.update(data)
            write_all(target, data, offset)
            offset += len(data)
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    digest.update(struct.pack("<Q", size))
    return digest.hexdigest()


def write_all(target: int, data: bytes, offset: int) -> None:
    """pwrite until everything is written. Raises OSError."""
    view = memoryview(data)
    while view:
        count = os.pwrite(target, view, offset)
        view = view[count:]
        offset += count
