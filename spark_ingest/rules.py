"""Whether a value will do as a field of an event, by the rules of the API; and what is stored of it.

Each check takes the text of a column, or what Arrow makes of its type. A test holds that the API has the same verdicts.
"""

import base64
import binascii
import json
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spark_ingest import limits

# A cluster need not have it: then payloads are checked at a third of the speed.
orjson = import_module("orjson") if find_spec("orjson") else None

_UUID = re.compile("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST, LAST = (
    (moment - _EPOCH) // _MICROSECOND for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
)
FAR = limits.DELAY_MS * 1000


class Refused(Exception):
    """Why a value will not do; the same text for all values of which this is true."""


def identifier(value: str) -> bytes:
    if _UUID.fullmatch(value):  # faster than asking for all that Python takes as one
        return bytes.fromhex(value.replace("-", ""))
    try:
        return uuid.UUID(value).bytes
    except ValueError:
        raise Refused("it is not a UUID") from None


def text(most: int, *, least: int = 1, forbidden: re.Pattern[str] | None = None) -> Callable[[str], str]:
    def check(value: str) -> str:
        if len(value) < least:
            raise Refused("it is empty")
        if len(value) > most:
            raise Refused(f"it has more than {most} characters")
        if forbidden and forbidden.search(value):
            raise Refused("it has control characters")
        return value

    return check


def strings(least: int, most: int) -> Callable[[str], str]:
    """A JSON object of strings, as its text; written anew, so that the database sees what we have seen."""

    @lru_cache(maxsize=10_000)
    def check(value: str) -> str:
        found = _object(value)
        if not least <= len(found) <= most:
            raise Refused(f"it does not have from {least} to {most} entries")
        for entry in found.items():
            for part in entry:
                if not isinstance(part, str):
                    raise Refused("it is not an object of strings")
                if "\0" in part or not _is_text(part):
                    raise Refused("it has NUL characters or lone surrogates")
                if not 1 <= len(part.encode()) <= limits.KEY_OR_VALUE_BYTES:
                    raise Refused(f"a key or a value does not have from 1 to {limits.KEY_OR_VALUE_BYTES} bytes")
        return json.dumps(found)

    return check


def moment(value: str) -> int:
    """A time of RFC 3339, in microseconds since 1970."""
    if _MOMENT.fullmatch(value):
        try:
            found = datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            return (found - _EPOCH) // _MICROSECOND
    raise Refused("it is not a time with an offset, as in 2026-01-31T12:00:00Z")


def timestamp(value: int) -> int:
    """What a timestamp of Spark's holds: the same number, of a wider range."""
    if not FIRST <= value <= LAST:
        raise Refused("it is not within the years 1 to 9999")
    return value


@lru_cache(maxsize=10_000)
def waits(value: str) -> str:
    """A JSON list of milliseconds, as an array of PostgreSQL's."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Refused("it is not a list of whole numbers")
    if len(found) > limits.BACKOFF_ENTRIES:
        raise Refused(f"it has more than {limits.BACKOFF_ENTRIES} entries")
    if not all(type(entry) is int for entry in found):
        raise Refused("it is not a list of whole numbers")
    if not all(0 <= entry <= limits.BACKOFF_MS for entry in found):
        raise Refused(f"an entry is not from 0 to {limits.BACKOFF_MS}")
    return "{" + ",".join(map(str, found)) + "}"


def keys(value: str) -> str:
    """A JSON list of paths of words, written anew as objects of strings are."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Refused("it is not a list of keys, each a list of words")
    if len(found) > limits.KEYS_IF_UNDELIVERED:
        raise Refused(f"it has more than {limits.KEYS_IF_UNDELIVERED} keys")
    for path in found:
        if not isinstance(path, list) or not 1 <= len(path) <= limits.KEY_PARTS:
            raise Refused(f"a key is not a list of 1 to {limits.KEY_PARTS} words")
        for word in path:
            if not isinstance(word, str) or not 1 <= len(word) <= limits.KEY_CHARACTERS:
                raise Refused(f"a word of a key is not a text of 1 to {limits.KEY_CHARACTERS} characters")
            if _CONTROL.search(word) or not _is_text(word):
                raise Refused("a word of a key has control characters or lone surrogates")
    return json.dumps(found)


def sized(value: str | bytes) -> str | bytes:
    """A payload of a size that will do; its content is looked at when its content type is known to be good."""
    most = limits.PAYLOAD_CHARACTERS if isinstance(value, str) else limits.PAYLOAD_CHARACTERS * 3 // 4
    if len(value) > most:
        raise Refused(f"it has more than {most} {'characters' if isinstance(value, str) else 'bytes'}")
    return value


def content(value: str | bytes, content_type: str) -> bytes:
    """The bytes that are stored, signed and sent. A column of bytes is never in base64."""
    if content_type == limits.JSON:
        _check_json(value)
    elif content_type == limits.BASE64 and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise Refused("it is not base64") from None
    return value.encode() if isinstance(value, str) else value


def _check_json(value: str | bytes) -> None:
    try:
        document = value if isinstance(value, str) else value.decode()
        if not _is_json_at_once(document):
            json.loads(document, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Refused("it is not JSON") from None


def _is_json_at_once(document: str) -> bool:
    """The fast reader; what it does not take is read with care."""
    if orjson is None:
        return False
    try:
        orjson.loads(document)
    except orjson.JSONDecodeError:
        return False
    return True


def _object(value: str) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused("it is not an object of strings")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def checks() -> dict[str, Callable[[str], Any]]:
    """Each field of an event, but for the payload, which wants its content type."""
    return {
        "event_id": identifier,
        "event_type": lru_cache(10_000)(text(limits.EVENT_TYPE_CHARACTERS, forbidden=_CONTROL)),
        "payload_content_type": lru_cache(100)(text(limits.CONTENT_TYPE_CHARACTERS)),
        "labels": strings(1, limits.LABEL_ENTRIES),
        "metadata": strings(0, limits.METADATA_ENTRIES),
        "occurred_at": moment,
        "ordering_key": text(limits.ORDERING_KEY_CHARACTERS, forbidden=re.compile("\0")),
        "deliver_at": moment,
        "backoff_schedule": waits,
        "keys_if_undelivered": keys,
    }
