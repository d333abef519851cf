"""Each request of the API has an id, which its answer carries and every log line that it causes."""

import random
import re
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-Id"
_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}", re.ASCII)

request_id: ContextVar[str] = ContextVar("request_id", default="")


def identify(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The client's own id if it sent a sane one, or else a new one."""

    def middleware(request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "")
        token = request_id.set(sent if _SANE.fullmatch(sent) else f"{random.getrandbits(128):032x}")
        try:
            response = answer(request)
            response[HEADER] = request_id.get()
            return response
        finally:
            request_id.reset(token)

    return middleware
