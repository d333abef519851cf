"""The door for streams, as a server calls it."""

import asyncio

import pytest

from delivery.api.event_stream import EventStream, event
from hook0 import asgi


async def never(*_):
    await asyncio.Event().wait()


def test_a_client_that_does_not_read_is_cut_and_its_stream_comes_to_its_end(monkeypatch):
    monkeypatch.setattr(asgi, "SLOW_SECONDS", 0.05)
    told = []

    async def events():
        try:
            while True:
                yield event("ping")
        finally:
            told.append("its end")

    async def scene():
        async with asyncio.timeout(10):
            await asgi.application._send_on(EventStream(events(), lambda: None), never, never)

    with pytest.raises(TimeoutError):
        asyncio.run(scene())
    assert told == ["its end"]


def test_a_client_that_goes_is_noticed_though_sends_to_it_succeed_at_once():
    is_over, sent = asyncio.Event(), []

    async def events():
        for _ in range(100):
            if not is_over.is_set():
                yield event("ping")

    async def goes():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def scene():
        async with asyncio.timeout(10):
            await asgi.application._send_on(EventStream(events(), is_over.set), goes, send)

    asyncio.run(scene())
    assert len(sent) < 5
