# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that only compute. argv: thousands of rounds of each."""

import sys
import threading

ROUNDS = int(sys.argv[1]) * 1000
results: dict[int, tuple[int, int]] = {}


def work(name: int) -> None:
    x = name
    seen: dict[int, int] = {}
    for i in range(ROUNDS):
        x = (x * 31 + i) % 1000003
        seen[x % 97] = seen.get(x % 97, 0) + x
    results[name] = (x, sum(seen.values()) % 1000003)


threads = [threading.Thread(target=work, args=(name,)) for name in range(1, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
