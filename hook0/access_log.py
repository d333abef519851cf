"""A line for each request, where `HOOK0_ACCESS_LOG` asks for it: what was asked, by whom, and how it was answered."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from events.ingest import Fate
from tenants.principal import Principal

logger = logging.getLogger(__name__)

MOST_IDS = 100  # of a batch, in a line


def log_requests(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    if not settings.ACCESS_LOG:
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = answer(request)
        fields = {
            "method": request.method,
            "path": _shown(request),
            "status": response.status_code,
            "ms": round((time.monotonic() - began) * 1000, 1),
            "caller": _caller(request),
            **_events(response),
        }
        logger.info("%(method)s %(path)s %(status)s %(ms)s ms, %(caller)s", fields, extra={"fields": fields})
        return response

    return middleware


def _events(response: HttpResponse) -> dict[str, Any]:
    """Which events the answer says it has taken in: what ties an event to its request."""
    answer = getattr(response, "data", None)
    if not isinstance(answer, dict):
        return {}
    if response.status_code == 201 and {"event_id", "received_at"} <= answer.keys():
        return {"event_id": str(answer["event_id"])}
    created = [each["event_id"] for each in answer.get("results", ()) if each.get("status") == Fate.CREATED]
    return {"events": len(created), "event_ids": [str(each) for each in created[:MOST_IDS]]} if created else {}


def _shown(request: HttpRequest) -> str:
    """The path. Query strings may hold secrets, and so may the path of an application secret."""
    path = request.path
    token = request.resolver_match and request.resolver_match.kwargs.get("token")
    return path.replace(str(token), "***") if token else path


def _caller(request: HttpRequest) -> str:
    principal = getattr(request, "user", None)  # DRF tells the request of Django
    if not isinstance(principal, Principal):
        return "person" if principal and principal.is_authenticated else "nobody"
    if principal.application_id:
        return f"application {principal.application_id}"
    return f"organization {principal.organization_id}"
