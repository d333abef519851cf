"""Server-sent events: an answer that goes on for as long as somebody reads it."""

from collections.abc import AsyncGenerator, Callable

from django.http import StreamingHttpResponse

CONTENT_TYPE = "text/event-stream"


class EventStream(StreamingHttpResponse):
    """`events` are what `event` makes; `end` lets them come to their end by themselves."""

    def __init__(self, events: AsyncGenerator[bytes, None], end: Callable[[], None]) -> None:
        # No proxy shall keep it, or wait for more of it.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, content_type=CONTENT_TYPE, headers=headers)
        self.events, self.end = events, end


def event(name: str, data: bytes = b"", *, id_: str = "") -> bytes:
    """One event; the data is JSON, or another text of one line."""
    return b"".join([f"id: {id_}\n".encode() if id_ else b"", f"event: {name}\n".encode(), b"data: ", data, b"\n\n"])
