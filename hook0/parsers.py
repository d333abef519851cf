"""How the bodies of requests are read."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from tenants import strict_json

BODY_LIMIT = 2_097_152


class JsonParser(BaseParser):
    """JSON of at most 2 MiB: the size is checked before the body is read into memory."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        body = stream.read(BODY_LIMIT + 1)
        if len(body) > BODY_LIMIT:
            raise ParseError(f"Body is too big (maximum is {BODY_LIMIT} bytes)")
        try:
            return strict_json.loads(body)
        except ValueError as problem:
            raise ParseError(f"The body is not JSON: {problem}") from None
