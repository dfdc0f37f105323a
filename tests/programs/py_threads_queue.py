# SPDX-License-Identifier: GPL-2.0-or-later
"""Python threads with queues, locks, events, timers and thread pools.

The interleaving, thread identifiers, hash seed and clocks are printed.
"""

import concurrent.futures
import queue
import random
import sys
import threading
import time

WORKERS = 4
ITEMS = 120


def main() -> None:
    """Run the workers and print who did what."""
    work: queue.Queue[int | None] = queue.Queue(maxsize=10)
    done: list[tuple[int, int]] = []
    lock = threading.Lock()

    def worker(number: int) -> None:
        while (item := work.get()) is not None:
            with lock:
                done.append((number, item))

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for item in range(ITEMS):
        work.put(item)
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()
    assert sorted(item for _, item in done) == list(range(ITEMS))
    print(done)

    fired = threading.Event()
    threading.Timer(0.01, fired.set).start()
    assert fired.wait(timeout=60)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(list(pool.map(lambda n: (n * n, threading.get_ident()), range(8))))
    print(hash("a string"), {"x", "y", "z"}, id(fired), random.random())
    print(time.time(), time.monotonic_ns(), time.perf_counter(), time.process_time())
    sys.stdout.flush()


main()
