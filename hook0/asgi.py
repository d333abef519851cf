"""The door for streams: a request is answered as everywhere, in a thread; a stream goes on without one."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")
django.setup()

from django.core.handlers.asgi import ASGIRequest  # noqa: E402 - they need the settings
from django.core.handlers.base import BaseHandler  # noqa: E402
from django.core.signals import request_started  # noqa: E402
from django.http import HttpResponse  # noqa: E402

from delivery.api.event_stream import EventStream  # noqa: E402
from delivery.api.stream import STREAMS  # noqa: E402
from delivery.database import connect  # noqa: E402
from delivery.jobs import streams as job_streams  # noqa: E402
from delivery.pull import look_for_work  # noqa: E402
from delivery.streams import Streams  # noqa: E402
from delivery.waking import Waker  # noqa: E402

logger = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

THREADS = 4
SLOW_SECONDS = 30.0  # that a client may take to read one event


class Door(BaseHandler):
    """Django's sync middleware and views. Django's own handler would keep a thread for every stream that is open."""

    def __init__(self) -> None:
        self.load_middleware()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="requests")
        self._streams = Streams(Waker(lambda: connect(name="hook0 streams"), look_for_work))

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            response = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, scope)
            headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.items()]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            if isinstance(response, EventStream):
                await self._send_on(response, receive, send)
            else:
                await send({"type": "http.response.body", "body": response.content})

    def _answer(self, scope: Mapping[str, Any]) -> Any:
        request_started.send(sender=type(self), scope=scope)
        request = ASGIRequest(scope, BytesIO())  # nothing here reads a body
        request.urlconf = "hook0.stream_urls"
        request.META[STREAMS] = self._streams
        response = self.get_response(request)
        if isinstance(response, HttpResponse):
            response.close()
        return response

    async def _send_on(self, response: EventStream, receive: Receive, send: Send) -> None:
        """Event by event, each when the one before has been read, until either side has enough."""
        watcher = asyncio.create_task(_end_with_client(response, receive))
        try:
            async for event in response.events:
                async with asyncio.timeout(SLOW_SECONDS):
                    await send({"type": "http.response.body", "body": event, "more_body": True})
                await asyncio.sleep(0)  # to who has gone sends succeed at once: the watcher could not say so
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            logger.info("A stream is cut: its client has not read for %d seconds", SLOW_SECONDS)
            raise
        finally:
            watcher.cancel()
            await response.events.aclose()

    def _end(self) -> None:
        self._streams.end()
        job_streams.end_streams()

    async def _live(self, receive: Receive, send: Send) -> None:
        """The server ends when the last request has ended: streams are told as soon as it is asked to."""
        await receive()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):  # beside the server's own handlers, which are the loop's
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._end))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._streams.close()
        await send({"type": "lifespan.shutdown.complete"})


async def _end_with_client(response: EventStream, receive: Receive) -> None:
    with suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass
        response.end()


application = Door()
