"""Where a request comes from."""

import ipaddress
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request


def client_address(request: HttpRequest | Request) -> str | None:
    """The address of the client: of who connects, or of whom our own proxies say that they speak for."""
    address = _normal(request.META.get("REMOTE_ADDR", ""))
    if not settings.TRUSTED_PROXIES:
        return address
    told = [_normal(hop) for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    while address and told and told[-1] and _is_trusted(address):  # each proxy has added who came to it
        address = told.pop()
    return address


@lru_cache(4096)  # clients come again and again
def _normal(address: str) -> str | None:
    """An address as PostgreSQL takes it, without the zone of a local one; None where it is none."""
    try:
        return str(ipaddress.ip_address(address.strip().partition("%")[0]))
    except ValueError:
        return None


def _is_trusted(address: str) -> bool:
    return any(ipaddress.ip_address(address) in network for network in settings.TRUSTED_PROXIES)
