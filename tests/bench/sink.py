"""A receiver that costs as little as Python can: the benchmarks measure the sender. Run as a process of its own.

sink.py PORT_FILE    /ok answers at once, /slow after 20 ms, /dead never; GET /counts tells what came when
"""

import asyncio
import json
import sys
import time
from array import array
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
SLOW_SECONDS = 0.02

arrivals = array("d")
latencies = array("d")


class Sink(asyncio.Protocol):
    """Reads requests without looking at more of them than it must."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[: end + 2]
            start = head.lower().find(b"content-length: ")
            length = int(head[start + 16 : head.index(b"\r\n", start)]) if start >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                return
            body = self.buffer[end + 4 : end + 4 + length]
            self.buffer = self.buffer[end + 4 + length :]
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        now = time.time()
        if b" /dead" in head:
            return
        if b" /counts" in head:
            known = json.dumps({"arrivals": list(arrivals), "latencies": list(latencies)}).encode()
            del arrivals[:], latencies[:]
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(known) + known)
            return
        arrivals.append(now)
        if body.startswith(b'{"sent": '):
            latencies.append(now - float(body[9 : body.index(b",")]))
        if b" /slow" in head:
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self.transport.write, ANSWER)
        else:
            self.transport.write(ANSWER)


async def serve(port_file: Path) -> None:
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0, backlog=4096)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))  # noqa: ASYNC240 - once, before it serves
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
