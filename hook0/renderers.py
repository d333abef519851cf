"""How answers are written."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer


class JsonRenderer(JSONRenderer):
    """DRF's JSON, a good deal faster: a batch is answered with a thousand results."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=str, option=orjson.OPT_UTC_Z)
        except TypeError:  # numbers of more than 64 bits, and keys that are not strings
            return super().render(data, accepted_media_type, renderer_context)
