"""A line for each request, where `HOOK0_ACCESS_LOG` asks for it: what was asked, by whom, and how it was answered."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from tenants.principal import Principal

logger = logging.getLogger(__name__)


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
        }
        logger.info("%(method)s %(path)s %(status)s %(ms)s ms, %(caller)s", fields, extra={"fields": fields})
        return response

    return middleware


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
