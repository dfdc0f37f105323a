# SPDX-License-Identifier: GPL-2.0-or-later
"""multiprocessing by fork: a pool, queues, shared values, locks, shared memory, pipes."""

import multiprocessing
import os
from multiprocessing import shared_memory


def square(number: int) -> tuple[int, int]:
    """Return the square and who computed it."""
    return number * number, os.getpid()


def count(value: "multiprocessing.sharedctypes.Synchronized[int]", name: str) -> None:
    """Count under the value's lock, then write into shared memory."""
    for _ in range(50):
        with value.get_lock():
            value.value += 1
    area = shared_memory.SharedMemory(name)
    area.buf[os.getpid() % 100 + 8] = 1
    area.buf[0] = 42
    area.close()


def main() -> None:
    """Run all parts."""
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        results = pool.map(square, range(30), chunksize=3)
    assert [square for square, _ in results] == [n * n for n in range(30)]
    print(results)
    value = context.Value("i", 0)
    area = shared_memory.SharedMemory(create=True, size=4096)
    processes = [context.Process(target=count, args=(value, area.name)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert value.value == 150
    assert area.buf[0] == 42
    print(bytes(area.buf[:120]), area.name, [p.exitcode for p in processes])
    area.close()
    area.unlink()
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send({"pid": os.getpid()}))
    child.start()
    print(ours.recv())
    child.join()


main()
