"""A load generator of plain sockets, so that the client costs little beside the server.

hammer.py PORT CONNECTIONS SECONDS < REQUEST

Sends the same request over and over on so many connections that stay open, each waiting for its answer, and prints how
many were answered per second. Every answer must be a success.
"""

import re
import selectors
import socket
import sys
import time
from typing import cast

HEAD = re.compile(rb"HTTP/1\.1 (\d+).*?content-length: (\d+).*?\r\n\r\n", re.DOTALL | re.IGNORECASE)


def hammer(port: int, connections: int, seconds: float, request: bytes) -> float:
    """Answers per second."""
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ, bytearray())
        connection.sendall(request)
    began, answered = time.monotonic(), 0
    while (now := time.monotonic()) < began + seconds:
        for key, _ in selector.select(timeout=1):
            connection, received = cast("socket.socket", key.fileobj), key.data
            received += connection.recv(1 << 20)
            head = HEAD.match(received)
            if not head or len(received) < head.end() + int(head[2]):
                continue
            assert head[1][:1] == b"2", bytes(received[:2000])
            received.clear()
            answered += 1
            connection.sendall(request)
    return answered / (now - began)


if __name__ == "__main__":
    port, connections, seconds = sys.argv[1:]
    sys.stdout.write(str(hammer(int(port), int(connections), float(seconds), sys.stdin.buffer.read())))
