# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads pass work through queues; argv: items. Prints sums that no order can change."""

import hashlib
import queue
import sys
import threading


def main() -> None:
    """Run producers, workers and a collector."""
    items = int(sys.argv[1])
    raw: queue.Queue[bytes | None] = queue.Queue(maxsize=16)
    cooked: queue.Queue[str | None] = queue.Queue()

    def work() -> None:
        while (item := raw.get()) is not None:
            cooked.put(hashlib.sha256(item * 50).hexdigest())
        cooked.put(None)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for number in range(items):
        raw.put(b"item %d" % number)
    for _ in workers:
        raw.put(None)
    digests, ended = [], 0
    while ended < len(workers):
        digest = cooked.get()
        if digest is None:
            ended += 1
        else:
            digests.append(digest)
    for worker in workers:
        worker.join()
    print(len(digests), hashlib.sha256("".join(sorted(digests)).encode()).hexdigest())


main()
