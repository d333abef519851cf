"""From the string of a request to the bytes that are stored, signed and sent."""

import base64
import binascii

from events import limits
from events.problems import (
    EventInvalidBase64Payload,
    EventInvalidJsonPayload,
    EventInvalidPayloadContentType,
)
from tenants import strict_json


def decode_payload(payload: str, content_type: str) -> bytes:
    """Check a payload against its content type. JSON is checked but kept byte for byte; base64 is decoded."""
    if content_type == limits.TEXT:
        return payload.encode()
    if content_type == limits.JSON:
        try:
            strict_json.loads(payload)
        except ValueError as problem:
            raise EventInvalidJsonPayload(f"`payload` is not JSON: {problem}.") from None
        return payload.encode()
    if content_type == limits.BASE64:
        try:
            return base64.b64decode(payload, validate=True)
        except (binascii.Error, ValueError) as problem:
            raise EventInvalidBase64Payload(f"`payload` is not base64: {problem}.") from None
    raise EventInvalidPayloadContentType
