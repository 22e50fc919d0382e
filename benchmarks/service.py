"""A Messages service on loopback that answers after a fixed time: ``python -m benchmarks.service LATENCY``."""

from __future__ import annotations

import asyncio
import json
import os
import sys

ANSWER = json.dumps(
    {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small-1", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "Paris"}],
        "usage": {"input_tokens": 900, "output_tokens": 3},
    }
).encode()  # fmt: skip
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER


async def serve(latency: float) -> None:
    """Print the port, then answer until stdin ends."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
                )
                await reader.readexactly(size)
                await asyncio.sleep(latency)
                writer.write(RESPONSE)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()
    os._exit(0)  # connections that are kept open would be reported one by one


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
