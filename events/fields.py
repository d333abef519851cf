"""The fields of an event, each with what it must be: the one definition for single events and batches.

Plain functions, ten times faster than a serializer; `EventPost` documents the same rules, and a test compares the two.
"""

import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from events import limits
from tenants.fields import is_text
from tenants.own_event_types import RESERVED_SERVICE

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class Complaint(Exception):
    """What is wrong with a field."""

    def __init__(self, code: str, message: str, **params: Any) -> None:
        self.refusal = refusal(code, message, **params)


def read_uuid(value: Any) -> uuid.UUID | None:
    """A UUID, if this is one."""
    try:
        return uuid.UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def refusal(code: str, message: str, **params: Any) -> dict[str, Any]:
    """One complaint about a field, as Hook0's clients read it."""
    return {"code": code, "message": message, "params": params}


def _identifier(value: Any) -> uuid.UUID:
    found = read_uuid(value)
    if found is None:
        raise Complaint("invalid", "This must be a UUID.")
    return found


def _text(most: int, *, least: int = 1, forbidden: re.Pattern[str] | None = None) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise Complaint("invalid", "This must be a string.")
        if not least <= len(value) <= most:
            if not value:
                raise Complaint("blank", "This must not be empty.")
            raise Complaint("max_length", f"This must have at most {most} characters.", max=most)
        if not (value.isascii() or is_text(value)):
            raise Complaint("surrogate_characters_not_allowed", "Lone surrogates are not text.")
        if forbidden and forbidden.search(value):
            raise Complaint("control_characters", "Control characters are not allowed.")
        return value

    return check


def _strings(least: int, most: int) -> Callable[[Any], dict[str, str]]:
    longest = limits.KEY_OR_VALUE_BYTES

    def check(value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise Complaint("not_a_map", "This must be an object of strings.")
        if not least <= len(value) <= most:
            found = len(value)
            message = f"This must have from {least} to {most} entries; it has {found}."
            raise Complaint("length", message, min=least, max=most, found=found)
        for entry in value.items():
            for part in entry:
                if not isinstance(part, str):
                    raise Complaint("not_a_map", "This must be an object of strings.")
                if "\0" in part or not is_text(part):
                    raise Complaint("not_text", "NUL characters and lone surrogates are not text.")
                if not 1 <= len(part.encode()) <= longest:
                    message = f"Keys and values must be from 1 to {longest} bytes; {entry[0][:60]!r} is not."
                    raise Complaint("entry_length", message, min=1, max=longest)
        return value

    return check


def _number(least: int, most: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int:  # a bool is an int to Python
            raise Complaint("invalid", "This must be a whole number.")
        if value < least:
            raise Complaint("min_value", f"This must be at least {least}.", min=least)
        if value > most:
            raise Complaint("max_value", f"This must be at most {most}.", max=most)
        return value

    return check


def _numbers(check: Callable[[Any], int], *, most: int) -> Callable[[Any], list[int]]:
    def check_all(value: Any) -> list[int]:
        if not isinstance(value, list):
            raise Complaint("not_a_list", "This must be a list of whole numbers.")
        if len(value) > most:
            raise Complaint("max_length", f"This must have at most {most} entries.", max=most)
        return [check(entry) for entry in value]

    return check_all


def _paths(value: Any) -> list[list[str]]:
    if not isinstance(value, list):
        raise Complaint("not_a_list", "This must be a list of keys, each a list of words.")
    if len(value) > limits.KEYS_IF_UNDELIVERED:
        most = limits.KEYS_IF_UNDELIVERED
        raise Complaint("max_length", f"This must have at most {most} entries.", max=most)
    return [_path(path) for path in value]


def _path(value: Any) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= limits.KEY_PARTS:
        raise Complaint("not_a_key", f"A key must be a list of 1 to {limits.KEY_PARTS} words.", max=limits.KEY_PARTS)
    return [_word(word) for word in value]


def moment(value: Any) -> datetime:
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise Complaint("invalid", "This must be a time with an offset, as in 2026-01-31T12:00:00Z (RFC 3339).")


_type_name = _text(limits.EVENT_TYPE_CHARACTERS, forbidden=_CONTROL)


def event_type(value: Any) -> str:
    return _own_event_type(value) if isinstance(value, str) else _type_name(value)


@lru_cache(1024)  # a batch has few types, many times each
def _own_event_type(value: str) -> str:
    if (name := _type_name(value)).startswith(_RESERVED):
        raise Complaint("reserved", f"Event types that begin with {_RESERVED} are for events of hook0's own.")
    return name


_RESERVED = f"{RESERVED_SERVICE}."
_word = _text(limits.KEY_CHARACTERS, forbidden=_CONTROL)
NULL = refusal("null", "This must not be null.")
MISSING = refusal("required", "This is required.")
REQUIRED = {"event_type", "payload", "payload_content_type", "labels", "occurred_at"}
FIELDS: dict[str, Callable[[Any], Any]] = {
    "event_id": _identifier,
    "event_type": event_type,
    "payload": _text(limits.PAYLOAD_CHARACTERS, least=0),
    "payload_content_type": _text(limits.CONTENT_TYPE_CHARACTERS),
    "labels": _strings(1, limits.LABEL_ENTRIES),
    "metadata": _strings(0, limits.METADATA_ENTRIES),
    "occurred_at": moment,
    "ordering_key": _text(limits.ORDERING_KEY_CHARACTERS, forbidden=re.compile("\0")),
    "priority": _number(*limits.PRIORITIES),
    "delay_ms": _number(0, limits.DELAY_MS),
    "deliver_at": moment,
    "backoff_schedule": _numbers(_number(0, limits.BACKOFF_MS), most=limits.BACKOFF_ENTRIES),
    "keys_if_undelivered": _paths,
}
