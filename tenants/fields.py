"""Fields that several requests share, and how all are checked."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tenants.json_types import require_types

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def checked(kind: type[serializers.Serializer[Any]], sent: Any) -> Any:
    """What a body or a query string says, if all of it will do."""
    serializer = kind(data=sent)
    if not isinstance(sent, QueryDict):  # in a query string everything is text
        require_types(serializer, sent)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def no_control_characters(value: str) -> None:
    if _CONTROL.search(value):
        raise serializers.ValidationError("Control characters are not allowed.", code="control_characters")


@extend_schema_field({"type": "string", "minLength": 1})
class CommaList(serializers.Field[list[str], Any, list[str], Any]):
    """Words of a query string, separated by commas; all of `choices` where there are some."""

    default_error_messages = {
        "empty": "This must be words, separated by commas.",
        "unknown": "{word} is none of {choices}.",
        "not_text": "NUL characters are not text.",
    }

    def __init__(self, *, choices: Collection[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def to_internal_value(self, data: Any) -> list[str]:
        words = [word.strip() for word in str(data).split(",")]
        for word in words:
            if not word:
                self.fail("empty")
            if "\0" in word:
                self.fail("not_text")
            if self.choices and word not in self.choices:
                self.fail("unknown", word=word, choices=", ".join(self.choices))
        return words

    def to_representation(self, value: list[str]) -> list[str]:
        return value


@extend_schema_field({"type": "string", "pattern": "^[^:]+:.+$"})
class Label(serializers.CharField):
    """`key:value`, as a pair."""

    default_error_messages = {"invalid": "This must be `key:value`."}

    def to_internal_value(self, data: Any) -> Any:
        key, colon, value = super().to_internal_value(data).partition(":")
        if not (key and colon and value):
            self.fail("invalid")
        return key, value


class StringMap(serializers.Field[dict[str, str], Any, dict[str, str], Any]):
    """An object of strings, with bounds on its size and on the UTF-8 bytes of its keys and values."""

    default_error_messages = {
        "not_a_map": "This must be an object of strings.",
        "length": "This must have from {least} to {most} entries; it has {found}.",
        "entry_length": "Keys and values must be from 1 to {bytes} bytes; {entry} is not.",
        "not_text": "NUL characters and lone surrogates are not text.",
    }

    def __init__(self, *, least: int, most: int, entry_bytes: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least, self.most, self.entry_bytes = least, most, entry_bytes

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, Mapping) or not all(isinstance(value, str) for value in data.values()):
            self.fail("not_a_map")
        if not self.least <= len(data) <= self.most:
            self.fail("length", least=self.least, most=self.most, found=len(data))
        for key, value in data.items():
            for part in (key, value):
                if "\0" in part or not is_text(part):
                    self.fail("not_text")
                if not 1 <= len(part.encode()) <= self.entry_bytes:
                    self.fail("entry_length", bytes=self.entry_bytes, entry=repr(key[:60]))
        return dict(data)

    def to_representation(self, value: dict[str, str]) -> dict[str, str]:
        return value


def is_text(value: str) -> bool:
    """Whether it can be written as UTF-8: JSON may escape half of a pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
