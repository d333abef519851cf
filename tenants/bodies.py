"""Bodies of requests, which are never larger in memory than they may be."""

from django.http import HttpRequest

from tenants.garbage import passed
from tenants.problems import JsonPayload


def read_capped(request: HttpRequest, limit: int) -> bytes:
    """The body; one that is too big is refused by its announced size, or else before more than the limit is read."""
    announced = "" if "HTTP_TRANSFER_ENCODING" in request.META else request.META.get("CONTENT_LENGTH") or ""
    if announced.isdecimal() and int(announced) > limit:
        raise _too_big(limit)
    body = request.read(limit + 1)
    passed(len(body))
    if len(body) > limit:
        raise _too_big(limit)
    return body


def _too_big(limit: int) -> JsonPayload:
    return JsonPayload(f"Body is too big (maximum is {limit} bytes)")
