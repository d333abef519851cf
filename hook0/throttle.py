"""Who comes too often is told when to come again, before anything else is done for them."""

import logging
import math
import tempfile
from collections.abc import Callable
from functools import cache
from typing import IO

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from hook0.problems import RateLimited, plain
from hook0.rates import Rates
from tenants.addresses import client_address
from tenants.authentication import token_of

logger = logging.getLogger(__name__)


def throttle(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Hold clients of the API to the rates of their address and of their token."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/api/"):
            return answer(request)
        wait = rates().wait(f"address {client_address(request)}".encode(), settings.ADDRESS_RATE)
        if not wait and (token := token_of(request)):
            wait = rates().wait(f"token {token}".encode(), settings.TOKEN_RATE)
        return _refuse(wait) if wait else answer(request)

    return middleware


def _refuse(wait: float) -> HttpResponse:
    seconds = str(math.ceil(wait))
    return plain(RateLimited(), headers={"Retry-After": seconds, "x-ratelimit-after": seconds})


@cache
def rates() -> Rates:
    """Those of this machine; or, where the home folder cannot be written to, of this process."""
    return Rates(_open())


def _open() -> IO[bytes]:
    path = settings.HOME / "run" / "rates"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b")
    except OSError as problem:
        logger.warning("Each process counts its own requests for the rate limits: %s", problem)
        return tempfile.TemporaryFile()
