"""Counts the requests to the API, by route: an address as the client wrote it would be a label without end."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from monitoring.counters import API_SECONDS

METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"})
TOO_MANY = 429


def count(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """How long each request took, and what class of status it was answered with."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = answer(request)
        seconds = time.perf_counter() - began
        method = request.method if request.method in METHODS else "other"
        API_SECONDS.labels(method, _route(request), _status(response.status_code)).observe(seconds)
        return response

    return middleware


def _route(request: HttpRequest) -> str:
    """The pattern that matched. The admin, with its hundreds, is one."""
    route = request.resolver_match.route if request.resolver_match else ""
    if route.startswith("admin/"):
        return "/admin/"
    return f"/{route}" if route.startswith("api/") else "other"


def _status(code: int) -> str:
    return str(code) if code == TOO_MANY else f"{code // 100}xx"
