# SPDX-License-Identifier: GPL-2.0-or-later
"""Python with mmap'ed files, signal handlers, itimers, select, ptys and temporary files."""

import mmap
import os
import pty
import select
import signal
import tempfile
import time

ticks: list[float] = []


def on_alarm(_signo: int, _frame: object) -> None:
    """Note the time."""
    ticks.append(time.monotonic())


def main() -> None:
    """Run all parts."""
    with tempfile.TemporaryFile() as file:
        file.write(b"0123456789" * 1000)
        file.flush()
        with mmap.mmap(file.fileno(), 0) as area:
            area[5:8] = b"abc"
            assert area.find(b"abc") == 5
            file.seek(5000)
            file.write(b"by write")
            file.flush()
            assert area[5000:5008] == b"by write"
        file.seek(0)
        assert file.read(10) == b"01234abc89"
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    total = 0
    while len(ticks) < 10:
        total += sum(range(1000))
        time.sleep(0.0005)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(ticks, total)
    print(signal.sigtimedwait([signal.SIGUSR2], 0.001))
    leader, follower = pty.openpty()
    os.write(follower, b"through a pty\n")
    ready, _, _ = select.select([leader], [], [], 60)
    assert ready == [leader]
    print(os.read(leader, 100), os.ttyname(follower))
    print(tempfile.mkdtemp(dir="."), os.stat("."))


main()
