"""What every request goes through before Django's own middleware."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

_SLASHES = re.compile("/{2,}")


def tolerate_slashes(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let `/x`, `/x/` and `//x` be one address of the API, without a redirect, for every method."""

    def middleware(request: HttpRequest) -> HttpResponse:
        path = _SLASHES.sub("/", request.path_info)
        if path.startswith("/api/"):
            path = path.rstrip("/") + "/"
        request.path_info = path
        return answer(request)

    return middleware


def switch_off_xss_auditors(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The auditors of old browsers open holes of their own; Django sets the other headers that harden an answer."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        response["X-XSS-Protection"] = "0"
        return response

    return middleware


def say_length(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """An answer that is there as a whole goes out as a whole, and not in chunks."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if not response.streaming and response.content:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return middleware
