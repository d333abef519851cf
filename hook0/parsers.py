"""How requests are read, and what is answered: JSON, both ways."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.utils.mediatypes import media_type_matches

from tenants import strict_json
from tenants.bodies import read_capped

BODY_LIMIT = 2_097_152


class JsonParser(BaseParser):
    """JSON of at most 2 MiB."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        body = read_capped(stream, BODY_LIMIT)
        try:
            return strict_json.loads(body)
        except ValueError as problem:
            raise ParseError(f"The body is not JSON: {problem}") from None


class JsonWhateverIsAccepted(BaseContentNegotiation):
    """There is one representation: a client that accepts another gets this one all the same."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return next((parser for parser in parsers if media_type_matches(parser.media_type, request.content_type)), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
