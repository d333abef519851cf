"""HTTP requests, many at a time, over libcurl's multi interface.

    sender.start(request, tag)     begins a request
    sender.wait(seconds)           -> [(tag, Outcome), ...] of the requests that have ended meanwhile
    sender.wake()                  ends a wait at once; the one call that another thread may make

A plain failure (a time-out, a refused connection, a 500) is an `Outcome`, never an exception.
"""

import os
import select
import socket
from collections.abc import Hashable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar

import pycurl

from delivery.outcome import (
    E_CONNECTION,
    E_DNS,
    E_HTTP,
    E_INVALID_TARGET,
    E_TIMEOUT,
    E_UNKNOWN,
    Outcome,
)
from delivery.webhook import WebhookRequest
from subscriptions.addresses import Network, is_forbidden

Tag = TypeVar("Tag", bound=Hashable)

HEADERS_LIMIT = 32_768
KEPT_CONNECTIONS = 400  # with the largest window below the 1,024 descriptors that select() can watch
CONNECTION_LIFETIME_SECONDS = 300

_ERRORS = {
    pycurl.E_OPERATION_TIMEDOUT: E_TIMEOUT,
    pycurl.E_COULDNT_RESOLVE_HOST: E_DNS,
    pycurl.E_UNSUPPORTED_PROTOCOL: E_INVALID_TARGET,
    pycurl.E_URL_MALFORMAT: E_INVALID_TARGET,
    pycurl.E_COULDNT_CONNECT: E_CONNECTION,
    pycurl.E_SEND_ERROR: E_CONNECTION,
    pycurl.E_RECV_ERROR: E_CONNECTION,
    pycurl.E_GOT_NOTHING: E_CONNECTION,
    pycurl.E_SSL_CONNECT_ERROR: E_CONNECTION,
    pycurl.E_PEER_FAILED_VERIFICATION: E_CONNECTION,
    pycurl.E_HTTP2: E_CONNECTION,
}


class Transfer(Generic[Tag]):
    """One request under way: what its callbacks have gathered so far."""

    def __init__(self, tag: Tag, *, allowed: Sequence[Network], body_limit: int) -> None:
        self.tag = tag
        self.allowed = allowed
        self.room = body_limit
        self.headers: dict[str, str] = {}
        self.headers_room = HEADERS_LIMIT
        self.body: list[bytes] = []
        self.cut = False
        self.refused: str | None = None
        self.connected = False

    def open_socket(self, _purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> socket.socket | int:
        """Refuse forbidden addresses where they are really connected to: a name may resolve to anything."""
        family, kind, protocol, peer = address
        if is_forbidden(str(peer[0]), self.allowed):
            self.refused = str(peer[0])
            return pycurl.SOCKET_BAD
        self.connected = True
        return socket.socket(family, kind, protocol)

    def take_header(self, line: bytes) -> int | None:
        self.headers_room -= len(line)
        if self.headers_room < 0:
            return 0  # fewer than given: libcurl ends the transfer
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            key, value = name.strip().lower(), value.strip().replace("\0", "")
            self.headers[key] = f"{self.headers[key]}, {value}" if key in self.headers else value
        elif line.startswith(b"HTTP/"):
            self.headers.clear()  # the answer proper, after an interim one
        return None

    def take_body(self, chunk: bytes) -> int | None:
        self.body.append(chunk[: self.room])
        self.room -= len(self.body[-1])
        if len(self.body[-1]) < len(chunk):
            self.cut = True
            return 0
        return None

    def outcome(self, handle: pycurl.Curl, error: int, message: str) -> Outcome:
        status = handle.getinfo(pycurl.RESPONSE_CODE) or None
        elapsed_ms = round(handle.getinfo(pycurl.TOTAL_TIME) * 1000)
        body = b"".join(self.body)
        name: str | None = None
        if error and not self.cut and (status is None or not 200 <= status < 300):
            if self.refused and not self.connected:
                name, body = E_INVALID_TARGET, f"The target's address {self.refused} is not allowed.".encode()
            elif error == pycurl.E_UNSUPPORTED_PROTOCOL and handle.getinfo(pycurl.REQUEST_SIZE):
                name, body = E_UNKNOWN, message.encode()  # it answered, but not in HTTP
            else:
                name, body = _ERRORS.get(error, E_UNKNOWN), message.encode()
            status = None
        elif status is None or not 200 <= status < 300:
            name = E_HTTP
        return Outcome(
            error_name=name,
            http_status=status,
            headers=self.headers,
            body=body,
            elapsed_ms=elapsed_ms,
            retry_after=_seconds(self.headers.get("retry-after")),
        )


class Sender(Generic[Tag]):
    """A window of requests in flight. Connections are kept per endpoint and shared by all."""

    def __init__(
        self, *, allowed: Sequence[Network] = (), body_limit: int = 65_536, connect_timeout: float = 5.0
    ) -> None:
        self._allowed = allowed
        self._body_limit = body_limit
        self._connect_timeout_ms = int(connect_timeout * 1000)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, KEPT_CONNECTIONS)
        self._idle: list[pycurl.Curl] = []
        self._running: dict[pycurl.Curl, Transfer[Tag]] = {}
        self._stillborn: list[tuple[Tag, Outcome]] = []
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)

    @property
    def in_flight(self) -> int:
        return len(self._running) + len(self._stillborn)

    def start(self, request: WebhookRequest, tag: Tag) -> None:
        handle = self._idle.pop() if self._idle else pycurl.Curl()
        transfer = Transfer(tag, allowed=self._allowed, body_limit=self._body_limit)
        try:
            self._prepare(handle, request, transfer)
        except (pycurl.error, ValueError, TypeError) as problem:
            self._stillborn.append((tag, Outcome(E_INVALID_TARGET, body=str(problem).encode())))
            return
        self._running[handle] = transfer
        self._multi.add_handle(handle)

    def wait(self, seconds: float) -> list[tuple[Tag, Outcome]]:
        """Move all transfers on; if none ends, wait up to `seconds` for something to happen."""
        self._perform()
        ended = self._collect()
        if not ended and seconds > 0:
            read, write, failed = self._multi.fdset()
            select.select([*read, self._woken], write, failed, seconds)
            with suppress(BlockingIOError):
                os.read(self._woken, 64)
            self._perform()
            ended = self._collect()
        return ended

    def wake(self) -> None:
        with suppress(BlockingIOError):  # full: it will wake all the same
            os.write(self._waker, b"!")

    def close(self) -> None:
        os.close(self._woken)
        os.close(self._waker)
        for handle in self._running:
            self._multi.remove_handle(handle)
            handle.close()
        for handle in self._idle:
            handle.close()
        self._running, self._idle = {}, []
        self._multi.close()

    def _prepare(self, handle: pycurl.Curl, request: WebhookRequest, transfer: Transfer[Tag]) -> None:
        # Everything of the last request goes: nothing may leak from one tenant to another.
        handle.reset()
        handle.setopt(pycurl.URL, request.url.encode())
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.FOLLOWLOCATION, 0)
        handle.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        handle.setopt(pycurl.PROXY, "")  # the environment must not route webhooks around the address check
        handle.setopt(pycurl.TIMEOUT_MS, request.timeout_ms)
        handle.setopt(pycurl.CONNECTTIMEOUT_MS, min(self._connect_timeout_ms, request.timeout_ms))
        handle.setopt(pycurl.MAXLIFETIME_CONN, CONNECTION_LIFETIME_SECONDS)
        handle.setopt(pycurl.OPENSOCKETFUNCTION, transfer.open_socket)
        handle.setopt(pycurl.HEADERFUNCTION, transfer.take_header)
        handle.setopt(pycurl.WRITEFUNCTION, transfer.take_body)
        if request.method == "HEAD":
            handle.setopt(pycurl.NOBODY, 1)
        else:
            handle.setopt(pycurl.POSTFIELDS, request.body)
            handle.setopt(pycurl.CUSTOMREQUEST, request.method)
        lines = [(f"{name}: {value}" if value else f"{name};").encode() for name, value in request.headers]
        handle.setopt(pycurl.HTTPHEADER, [*lines, b"Expect:"])

    def _perform(self) -> None:
        while self._multi.perform()[0] == pycurl.E_CALL_MULTI_PERFORM:
            pass

    def _collect(self) -> list[tuple[Tag, Outcome]]:
        ended, self._stillborn = self._stillborn, []
        queued = 1
        while queued:
            queued, succeeded, failed = self._multi.info_read()
            for handle in succeeded:
                ended.append(self._finish(handle, 0, ""))
            for handle, error, message in failed:
                ended.append(self._finish(handle, error, message))
        return ended

    def _finish(self, handle: pycurl.Curl, error: int, message: str) -> tuple[Tag, Outcome]:
        transfer = self._running.pop(handle)
        self._multi.remove_handle(handle)
        outcome = transfer.outcome(handle, error, message)
        self._idle.append(handle)
        return transfer.tag, outcome


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` as seconds from now: it is a number of them, or a date."""
    if not retry_after:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
