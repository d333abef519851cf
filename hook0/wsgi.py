import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")

_django = get_wsgi_application()

LONGER_THAN_ANY_BODY = 1 << 30


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django takes a body whose length is not announced for none; its readers stop at their limits (tenants.bodies)."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        environ["CONTENT_LENGTH"] = str(LONGER_THAN_ANY_BODY)
    return _django(environ, start_response)
