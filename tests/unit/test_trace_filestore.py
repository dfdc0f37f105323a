# SPDX-License-Identifier: GPL-2.0-or-later
"""The file store and its cache: contents as they were, the user's files never linked."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pyrr.errors import EnvironmentUnsupported, SystemFailure
from pyrr.trace import _copy, filestore
from pyrr.trace.cache import FileCache, FileIdentity, cache_home
from pyrr.trace.filestore import FileStore, user_cache


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    made = tmp_path / "trace"
    made.mkdir()
    return made


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(tmp_path / "cache")


@pytest.fixture(autouse=True)
def no_reflinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on ext4; `test_reflinks` puts it back."""
    monkeypatch.setattr(filestore, "clone", lambda source, target: False)


def user_file(tmp_path: Path, content: bytes = b"content", name: str = "program") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def identity(path: Path) -> FileIdentity:
    return FileIdentity.of(path.stat())


def add(store: FileStore, path: Path, *, cacheable: bool = True) -> int:
    return store.add(path, identity(path), cacheable=cacheable)


def cached(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache/content").iterdir())


def test_ids_count_from_one(tmp_path: Path, trace: Path) -> None:
    store = FileStore(trace)
    assert [add(store, user_file(tmp_path, b"%d" % i)) for i in range(3)] == [1, 2, 3]
    assert [store.path(i).read_bytes() for i in (1, 2, 3)] == [b"0", b"1", b"2"]
    assert add(FileStore(trace), user_file(tmp_path)) == 4
    assert {path.name for path in (trace / "files").iterdir()} == {"1", "2", "3", "4"}


def test_the_users_file_is_never_linked(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = user_file(tmp_path)
    store = FileStore(trace, cache)
    stored = store.path(add(store, path))
    inode = path.stat().st_ino
    assert inode not in {stored.stat().st_ino, *(copy.stat().st_ino for copy in cached(tmp_path))}
    with path.open("r+b") as file:
        file.write(b"CHANGED")
    assert stored.read_bytes() == b"content"


def test_traces_share_the_caches_copy(tmp_path: Path, cache: FileCache) -> None:
    path = user_file(tmp_path)
    stored = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        store = FileStore(tmp_path / name, cache)
        stored.append(store.path(add(store, path)))
    assert stored[0].samefile(stored[1])
    assert stat.S_IMODE(stored[0].stat().st_mode) == 0o400
    assert cached(tmp_path)[0].samefile(stored[0])
    same = user_file(tmp_path, name="same content")
    store.add(same, identity(same), cacheable=True)
    assert len(cached(tmp_path)) == 1


def test_what_may_change_is_copied(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = user_file(tmp_path)
    store = FileStore(trace, cache)
    first = add(store, path, cacheable=False)
    before = identity(path)
    path.write_bytes(b"altered")
    os.utime(path, ns=(1, 1))
    second = store.add(path, before, cacheable=True)  # not the file it was
    assert cached(tmp_path) == []
    assert store.path(first).read_bytes() == b"content"
    assert store.path(second).read_bytes() == b"altered"


def test_a_new_version_gets_new_contents(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = user_file(tmp_path)
    store = FileStore(trace, cache)
    first = add(store, path)
    path.write_bytes(b"another")
    os.utime(path, ns=(5, 5))
    second = add(store, path)
    assert store.path(first).read_bytes() == b"content"
    assert store.path(second).read_bytes() == b"another"


def test_a_changed_cache_entry_is_not_used(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = user_file(tmp_path)
    store = FileStore(trace, cache)
    add(store, path)
    (copy,) = cached(tmp_path)
    copy.chmod(0o600)
    copy.write_bytes(b"CONTENT")
    os.utime(copy, ns=(7, 7))
    again = add(store, path)
    assert store.path(again).read_bytes() == b"content"


def test_holes_stay_holes(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(64 << 20)
        file.write(b"middle")
        file.truncate(128 << 20)
    store = FileStore(trace, cache)
    for cacheable in (False, True):
        stored = store.path(add(store, path, cacheable=cacheable))
        assert stored.stat().st_size == 128 << 20
        assert stored.stat().st_blocks * 512 <= max(path.stat().st_blocks * 512, 1 << 20)
        with stored.open("rb") as file:
            assert file.read(6) == b"begin\0"
            file.seek(64 << 20)
            assert file.read(7) == b"middle\0"


def test_empty_files(tmp_path: Path, trace: Path, cache: FileCache) -> None:
    path = user_file(tmp_path, b"")
    store = FileStore(trace, cache)
    for cacheable in (False, True):
        assert store.path(add(store, path, cacheable=cacheable)).read_bytes() == b""


@pytest.mark.parametrize("method", ["find", "add"])
def test_a_failing_cache_does_no_harm(
    tmp_path: Path, trace: Path, cache: FileCache, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, method, fail)
    store = FileStore(trace, cache)
    assert store.path(add(store, user_file(tmp_path))).read_bytes() == b"content"


def test_an_unusable_cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert user_cache() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    assert user_cache() is not None
    assert cache_home() == tmp_path / "new/pyrr"
    assert cache_home({"HOME": "/h"}) == Path.home() / ".cache/pyrr"
    (tmp_path / "new/pyrr/content").chmod(0o777)
    assert user_cache() is None


def test_a_cache_on_another_file_system_is_not_used(
    tmp_path: Path, trace: Path, cache: FileCache
) -> None:
    cache.dev += 1
    store = FileStore(trace, cache)
    assert store.path(add(store, user_file(tmp_path))).read_bytes() == b"content"
    assert cached(tmp_path) == []


def test_eviction_keeps_what_was_used_last(tmp_path: Path, trace: Path) -> None:
    cache = FileCache(tmp_path / "cache", limit=1 << 20)
    store = FileStore(trace, cache)
    block = 200 << 10
    files = [user_file(tmp_path, bytes([i]) * block, f"f{i}") for i in range(5)]
    for age, path in enumerate(files[:4]):
        add(store, path)
        copy = cache.find(identity(path))
        assert copy is not None
        os.utime(copy, ns=(age, copy.stat().st_mtime_ns))
    assert len(cached(tmp_path)) == 4
    assert cache.find(identity(files[0])) is not None  # used again
    add(store, files[4])
    more = user_file(tmp_path, b"x" * block, "more")
    add(store, more)
    left = [cache.find(identity(path)) is not None for path in [*files, more]]
    assert left == [True, False, False, True, True, True]
    assert sum(copy.stat().st_size for copy in cached(tmp_path)) <= 1 << 20
    assert len(list((tmp_path / "cache/identity").iterdir())) == 4
    assert store.path(2).read_bytes() == bytes([1]) * block  # the trace keeps its own link


def test_large_files_are_not_cached(tmp_path: Path, trace: Path) -> None:
    cache = FileCache(tmp_path / "cache", limit=1 << 20)
    store = FileStore(trace, cache)
    add(store, user_file(tmp_path, bytes(300 << 10)))
    assert cached(tmp_path) == []


def test_what_cannot_be_stored(tmp_path: Path, trace: Path) -> None:
    store = FileStore(trace)
    here = identity(tmp_path)
    with pytest.raises(EnvironmentUnsupported, match=r"the mapped file libx\.so cannot be read"):
        store.add(tmp_path / "absent", here, cacheable=True, name="libx.so")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(EnvironmentUnsupported, match="not a regular file"):
        store.add(tmp_path / "fifo", here, cacheable=True)
    with pytest.raises(SystemFailure, match="making"):
        FileStore(tmp_path / "absent")


def test_a_full_disk_leaves_no_half_file(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(filestore, "copy", fail)
    store = FileStore(trace)
    with pytest.raises(SystemFailure, match=r"storing a copy of .*No space left") as caught:
        add(store, user_file(tmp_path))
    assert caught.value.remedy is not None
    assert list((trace / "files").iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(filestore, "clone", lambda source, target: False)
    assert add(store, user_file(tmp_path)) == 1


def test_reflinks_come_first(
    tmp_path: Path, trace: Path, cache: FileCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clone(source: int, target: int) -> bool:
        _copy.copy(source, target)
        return True

    monkeypatch.setattr(filestore, "clone", clone)
    store = FileStore(trace, cache)
    assert store.path(add(store, user_file(tmp_path))).read_bytes() == b"content"
    assert cached(tmp_path) == []


def test_clone_where_it_cannot_be(tmp_path: Path) -> None:
    with Path("/proc/self/exe").open("rb") as source, (tmp_path / "new").open("wb") as target:
        assert _copy.clone(source.fileno(), target.fileno()) in {True, False}


def test_copying_without_kernel_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "copy_file_range", fail)
    content = os.urandom(3 << 20)
    path = user_file(tmp_path, content)
    with path.open("rb") as source, (tmp_path / "new").open("wb") as target:
        _copy.copy(source.fileno(), target.fileno())
    assert (tmp_path / "new").read_bytes() == content
