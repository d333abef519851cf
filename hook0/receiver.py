"""A webhook receiver to try things out with. It answers 200, until it is told to fail, to be slow or to be down.

    PUT /_behaviour/orders   {"status": 500, "times": 2, "delay_ms": 0, "down": false}   what /orders does next
    GET /_received           what came in, oldest first
    DELETE /_received        forget it, and every behaviour

Every other request is a webhook.
"""

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

KEPT = 100_000
BODY_LIMIT = 16 * 1024 * 1024


@dataclass
class Behaviour:
    """How a path answers: with which status, after which pause, not at all (`down`), and how many times.

    With `only`, it concerns the bodies that hold this text.
    """

    status: int = 200
    times: int | None = None
    delay_ms: int = 0
    down: bool = False
    only: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True)
class Received:
    """One webhook: when it came, when and how it was answered (0 is not at all)."""

    at: float
    until: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    answered: int
    number: int


class Receiver:
    """The server. `received` and `behaviours` may be read and set from other threads."""

    def __init__(self, on_received: Callable[[Received], None] = lambda _: None) -> None:
        self.received: list[Received] = []
        self.behaviours: dict[str, Behaviour] = {}
        self.port = 0
        self._on_received = on_received
        self._arrivals = 0

    async def serve(self, host: str = "127.0.0.1", port: int = 0, started: Callable[[], None] = lambda: None) -> None:
        server = await asyncio.start_server(self._connection, host, port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        started()
        async with server:
            await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass  # the other side left, or does not speak HTTP
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.rstrip().split("\r\n")
        method, target, _ = request.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if length > BODY_LIMIT:
            return False
        body = await reader.readexactly(length)
        path = target.partition("?")[0]
        if path.startswith("/_"):
            status, answer = self._control(method, path, body)
            _write(writer, method, status, {"content-type": "application/json"}, answer)
        elif not await self._webhook(writer, method, path, headers, body):
            return False
        await writer.drain()
        return headers.get("connection", "").lower() != "close"

    async def _webhook(
        self, writer: asyncio.StreamWriter, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> bool:
        arrived = time.time()
        self._arrivals += 1
        number = self._arrivals
        behaviour = self._next(path, body)
        if behaviour.delay_ms:
            await asyncio.sleep(behaviour.delay_ms / 1000)
        answered = 0 if behaviour.down else behaviour.status
        received = Received(
            arrived, time.time(), method, path, headers, body.decode("utf-8", "replace"), answered, number
        )
        self.received.append(received)
        del self.received[:-KEPT]
        self._on_received(received)
        if behaviour.down:
            return False
        _write(writer, method, behaviour.status, behaviour.headers, behaviour.body.encode())
        return True

    def _next(self, path: str, body: bytes) -> Behaviour:
        behaviour = self.behaviours.get(path, Behaviour())
        if behaviour.only.encode() not in body:
            return Behaviour()
        if behaviour.times is not None:
            behaviour.times -= 1
            if behaviour.times <= 0:
                self.behaviours.pop(path, None)
        return behaviour

    def _control(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if path == "/_received" and method == "GET":
            return 200, json.dumps([asdict(each) for each in self.received]).encode()
        if path == "/_received" and method == "DELETE":
            self.received.clear()
            self.behaviours.clear()
            return 200, b"{}"
        if path.startswith("/_behaviour/") and method == "PUT":
            return self._behave(path.removeprefix("/_behaviour"), body)
        return 404, b'{"error": "PUT /_behaviour/<path>, GET or DELETE /_received"}'

    def _behave(self, path: str, body: bytes) -> tuple[int, bytes]:
        try:
            self.behaviours[path] = _read_behaviour(json.loads(body or b"{}"))
        except ValueError as problem:
            return 400, json.dumps({"error": str(problem)}).encode()
        return 200, json.dumps(asdict(self.behaviours[path])).encode()


def _read_behaviour(wanted: Any) -> Behaviour:
    """A behaviour that will work, or ValueError with what is wrong."""
    kinds = {field.name: type(getattr(Behaviour(times=1), field.name)) for field in fields(Behaviour)}
    if not isinstance(wanted, dict) or set(wanted) - set(kinds):
        raise ValueError(f"send an object with some of {', '.join(kinds)}")
    for name, value in wanted.items():
        if not isinstance(value, kinds[name]) and not (name == "times" and value is None):
            raise ValueError(f"{name} must be of type {kinds[name].__name__}")
    behaviour = Behaviour(**wanted)
    if not 200 <= behaviour.status <= 599 or behaviour.delay_ms < 0 or behaviour.times == 0:
        raise ValueError("status must be from 200 to 599, delay_ms not negative, times null or at least 1")
    return behaviour


def _write(writer: asyncio.StreamWriter, method: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    lines = [
        f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}",
        f"content-length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if method == "HEAD" else body))


def start_in_thread(receiver: Receiver) -> Receiver:
    """Serve on a free port of the loopback interface, in a thread that ends with the process."""
    started = threading.Event()
    threading.Thread(
        target=lambda: asyncio.run(receiver.serve(started=started.set)), name="receiver", daemon=True
    ).start()
    started.wait()
    return receiver
