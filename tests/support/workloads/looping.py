# SPDX-License-Identifier: GPL-2.0-or-later
"""An event-free loop that keeps objects coming and going."""

import sys


def looping(rounds: int) -> int:
    """Goes round that often."""
    counts: dict[int, int] = {}
    texts: list[str] = []
    total = 0
    for i in range(rounds):
        total = (total * 31 + i) % 1000003
        key = total % 997
        counts[key] = counts.get(key, 0) + 1
        if i % 1000 == 0:
            texts.append(str(total))
            del texts[:-50]
    return total + len(counts)


sys.exit(looping(int(sys.argv[1])) % 2)
