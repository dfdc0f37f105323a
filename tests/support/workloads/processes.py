# SPDX-License-Identifier: GPL-2.0-or-later
"""multiprocessing: a pool, a queue, a shared array; argv: tasks."""

import multiprocessing
import multiprocessing.queues
import multiprocessing.sharedctypes
import sys


def cube(number: int) -> int:
    """The third power."""
    return number**3


def fill(
    array: "multiprocessing.sharedctypes.SynchronizedArray[int]",
    results: "multiprocessing.queues.Queue[int]",
    number: int,
) -> None:
    """Fill this worker's part of the array and report."""
    for index in range(number * 10, number * 10 + 10):
        array[index] = index * number
    results.put(number)


def main() -> None:
    """Run all parts."""
    tasks = int(sys.argv[1])
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Pool(3) as pool:
            print(method, sum(pool.imap_unordered(cube, range(tasks), chunksize=7)))
    array = multiprocessing.Array("i", 40)
    results: multiprocessing.queues.Queue[int] = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=fill, args=(array, results, number)) for number in range(4)
    ]
    for worker in workers:
        worker.start()
    print(sorted(results.get() for _ in workers))
    for worker in workers:
        worker.join()
    print(array[:])


if __name__ == "__main__":
    main()
