# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that compute for longer than a time slice between calls that a filter may answer.

Wrong: after a time slice the recorder no longer sees what the filter answers.
"""

import ctypes
import threading

PERSONALITY = 135
libc = ctypes.CDLL(None, use_errno=True)
results = []


def work(start: int) -> None:
    value = start
    for _ in range(40):
        for step in range(60000):
            value = (value * 31 + step) & 0xFFFFFFFF
        libc.syscall(PERSONALITY, 0xFFFFFFFF)
        value += ctypes.get_errno()
    results.append(value)


threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
