import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from tenants.garbage import look_rarely

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")

# A request that waits for somebody's lock has a thread that others wait for: it is answered 503 instead.
settings.DATABASES["default"]["OPTIONS"]["options"] += " -c lock_timeout=3s -c statement_timeout=60s"

_django = get_wsgi_application()
import_module(settings.ROOT_URLCONF)  # all views, which the first request would load otherwise: they stay, too
look_rarely()

LONGER_THAN_ANY_BODY = 1 << 30


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django takes a body whose length is not announced for none; its readers stop at their limits (tenants.bodies)."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        environ["CONTENT_LENGTH"] = str(LONGER_THAN_ANY_BODY)
    return _django(environ, start_response)
