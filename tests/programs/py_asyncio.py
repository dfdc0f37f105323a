# SPDX-License-Identifier: GPL-2.0-or-later
"""asyncio: streams over socketpairs and a unix server, subprocesses, timers, signals."""

import asyncio
import os
import signal
import socket


async def echo_over_socketpair(number: int) -> bytes:
    """Send one line through a socketpair and back."""
    left, right = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=left)
    other_reader, other_writer = await asyncio.open_connection(sock=right)
    writer.write(b"line %d\n" % number)
    await writer.drain()
    other_writer.write((await other_reader.readline()).upper())
    await other_writer.drain()
    answer = await reader.readline()
    writer.close()
    other_writer.close()
    return answer


async def serve() -> None:
    """Answer five clients of a unix server at once."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline())[::-1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(handle, "server.sock")

    async def client(number: int) -> bytes:
        reader, writer = await asyncio.open_unix_connection("server.sock")
        writer.write(b"client %d\n" % number)
        answer = await reader.read()
        writer.close()
        return answer

    print(await asyncio.gather(*(client(n) for n in range(5))))
    server.close()
    await server.wait_closed()


async def main() -> None:
    """Run all parts on one loop."""
    loop = asyncio.get_running_loop()
    signalled = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, signalled.set)
    print(await asyncio.gather(*(echo_over_socketpair(n) for n in range(10))))
    await serve()
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await process.communicate(b"to a child and back"), process.returncode)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(signalled.wait(), 60)
    print(await loop.run_in_executor(None, os.getpid), loop.time())
    await asyncio.sleep(0.01)


asyncio.run(main())
