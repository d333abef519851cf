"""Definitions and results of jobs are bytes: JSON as it is, and anything else in base64."""

import base64
import binascii
from typing import Any

import orjson
from rest_framework import serializers

from delivery.jobs import limits


class Base64Field(serializers.CharField):
    """Bytes, in base64."""

    default_error_messages = {"base64": "This is not base64."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=-(-limits.DOCUMENT_BYTES // 3) * 4, trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return base64.b64decode(super().to_internal_value(data), validate=True)
        except (binascii.Error, ValueError):
            self.fail("base64")


def document_in(body: dict[str, Any], name: str) -> bytes:
    """The bytes that a body gives under this name; none where it gives none."""
    if f"{name}_base64" in body:
        if name in body:
            raise serializers.ValidationError({name: f"Give this or `{name}_base64`, not both."})
        return bytes(body[f"{name}_base64"] or b"")  # an empty text stays one
    if name not in body:
        return b""
    try:
        document = orjson.dumps(body[name])
    except TypeError:
        told = f"Texts must be Unicode, and up to 250 levels deep. Send anything else as `{name}_base64`."
        raise serializers.ValidationError({name: told}) from None
    if len(document) > limits.DOCUMENT_BYTES:
        told = f"This is up to {limits.DOCUMENT_BYTES} bytes of JSON. Store it elsewhere and send where."
        raise serializers.ValidationError({name: told})
    return document


def as_json(document: bytes | None) -> Any:
    """What is in it, if it is JSON."""
    try:
        return orjson.loads(document or b"null")
    except orjson.JSONDecodeError:
        return None


def as_base64(document: bytes | None) -> str | None:
    """The same for all else."""
    try:
        orjson.loads(document or b"null")
    except orjson.JSONDecodeError:
        return base64.b64encode(document or b"").decode()
    return None
