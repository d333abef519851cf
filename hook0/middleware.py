"""What every request goes through before Django's own middleware."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, RawPostDataException
from django.utils.deprecation import MiddlewareMixin

from tenants.garbage import passed

PIECE = 65_536
MOST_THROWN_AWAY = 16 * 1_048_576
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


# Unfold's pages have scripts within, and Alpine evaluates what stands in their attributes: what is left to forbid is
# everything that comes from, or goes to, another host.
_ADMIN_LOADS = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


def keep_admin_to_itself(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """No page of the admin loads anything from elsewhere, or sends anything there."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if request.path_info.startswith("/admin"):
            response.headers.setdefault("Content-Security-Policy", _ADMIN_LOADS)
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


def let_finish(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Throw away what a refused request still sends: who is cut off while sending would not read the refusal."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if response.status_code >= 400 and "HTTP_EXPECT" not in request.META:  # that one waits to be asked for it
            thrown_away = 0
            with suppress(OSError, RawPostDataException):  # the client has gone, or all of it was read
                while thrown_away < MOST_THROWN_AWAY and (piece := request.read(PIECE)):
                    thrown_away += len(piece)
        return response

    return middleware


def let_go(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """DRF ties request, view and answer into circles: bodies would stay in memory until Python looks for those.

    Errors, and serializers of single objects, leave others, which are looked for by the bytes that passed.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if context := getattr(response, "renderer_context", None):  # of an answer of DRF's, which is rendered by now
            context["request"].parser_context.clear()
            vars(context["view"]).clear()
            context.clear()
        if not response.streaming:
            passed(len(response.content))
        return response

    return middleware


class _ForPeople(MiddlewareMixin):
    """Middleware that the admin needs and requests of the API pass by."""

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith("/api/"):
            return self.get_response(request)
        return super().__call__(request)


class Sessions(_ForPeople, SessionMiddleware):
    pass


class Authentication(_ForPeople, AuthenticationMiddleware):
    pass


class Messages(_ForPeople, MessageMiddleware):
    pass
