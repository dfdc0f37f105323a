# SPDX-License-Identifier: GPL-2.0-or-later
"""asyncio over socketpairs; argv: pairs. Each pair exchanges lines; sums are printed."""

import asyncio
import socket
import sys


async def exchange(number: int) -> int:
    """Pass 20 lines to and fro; the sum of the numbers in them."""
    left, right = socket.socketpair()
    a_in, a_out = await asyncio.open_connection(sock=left)
    b_in, b_out = await asyncio.open_connection(sock=right)

    async def answer() -> None:
        while line := await b_in.readline():
            b_out.write(b"%d\n" % (int(line) * 2))
            await b_out.drain()
        b_out.close()

    task = asyncio.create_task(answer())
    total = 0
    for step in range(20):
        a_out.write(b"%d\n" % (number * step))
        await a_out.drain()
        total += int(await a_in.readline())
    a_out.close()
    await task
    return total


async def main() -> None:
    """Run all pairs at once, with a timer beside them."""
    timer = asyncio.create_task(asyncio.sleep(0.01, "timer"))
    print(await asyncio.gather(*(exchange(n) for n in range(int(sys.argv[1])))))
    print(await timer)


asyncio.run(main())
