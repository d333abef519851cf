"""How the bodies of requests are read."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

BODY_LIMIT = 2_097_152


class JsonParser(BaseParser):
    """JSON of at most 2 MiB: the size is checked before the body is read into memory."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        body = stream.read(BODY_LIMIT + 1)
        if len(body) > BODY_LIMIT:
            raise ParseError(f"Body is too big (maximum is {BODY_LIMIT} bytes)")
        try:
            return json.loads(body, parse_constant=_refuse_constant)
        except RecursionError:
            raise ParseError("The JSON document is nested too deeply") from None
        except ValueError as problem:
            raise ParseError(f"The body is not JSON: {problem}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
