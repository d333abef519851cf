"""Events as nearly all are, read in three fifths of the time: msgspec checks what has simple bounds while it copies.

What is not surely good is nothing here, and read with care: `events.reading` says what is wrong with it, if anything.
"""

import uuid
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import Encoder

from events import limits
from events.fields import Complaint, event_type, moment
from events.ingest import NewEvent
from events.payload import decode_payload

_Part = Annotated[str, Meta(min_length=1, max_length=limits.KEY_OR_VALUE_BYTES)]


class _Sent(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Bounds are in characters, as these are ASCII; what is rarely sent, or looked at more closely, is left out."""

    event_type: str
    payload: Annotated[str, Meta(max_length=limits.PAYLOAD_CHARACTERS)]
    payload_content_type: Annotated[str, Meta(min_length=1, max_length=limits.CONTENT_TYPE_CHARACTERS)]
    labels: Annotated[dict[_Part, _Part], Meta(min_length=1, max_length=limits.LABEL_ENTRIES)]
    occurred_at: Any  # a text, and the moment that it is
    metadata: Annotated[dict[_Part, _Part], Meta(max_length=limits.METADATA_ENTRIES)] | None = None
    ordering_key: Annotated[str, Meta(min_length=1, max_length=limits.ORDERING_KEY_CHARACTERS)] | None = None
    priority: Annotated[int, Meta(ge=limits.PRIORITIES[0], le=limits.PRIORITIES[1])] | None = None
    event_id: uuid.UUID | None = None
    application_id: Any = None  # who takes it in looks at it


_encode = Encoder().encode


def read_plain(body: Any, end: bytes) -> NewEvent | None:
    """The event, where all of it is ASCII and needs no escape: so there is no NUL in it, nor half a surrogate pair."""
    try:
        sent = convert(body, _Sent)
        event_type(sent.event_type)
        sent.occurred_at = moment(sent.occurred_at)
        text, sent.payload = sent.payload, ""
        event_id, sent.event_id, sent.application_id = sent.event_id, None, None
        fields = _encode(sent)
        if not fields.isascii() or b"\\" in fields:
            return None
        payload = decode_payload(text, sent.payload_content_type)
    except (ValidationError, Complaint, UnicodeEncodeError):
        return None
    return NewEvent(payload, fields[:-1] + end, sent.event_type, event_id)
