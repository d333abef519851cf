"""The request of a webhook: what is sent where, as a plain value."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from delivery.claimed import Claimed
from delivery.signatures import hook0_signature, standard_signature

USER_AGENT = "hook0/1"
BASE64 = "+base64"  # says how the payload came in; what goes out are the bytes
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F))


@dataclass(frozen=True)
class WebhookRequest:
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    timeout_ms: int


def build_request(claimed: Claimed, *, timestamp: int) -> WebhookRequest:
    """Sign and address one try."""
    ours = {"X-Hook0-Delivery-Id": str(claimed.delivery_id), "X-Hook0-Attempt": str(claimed.try_number)}
    if claimed.lane_id is not None:
        ours["X-Hook0-Lane"] = str(claimed.lane_id)
        ours["X-Hook0-Sequence"] = str(claimed.lane_seq)
    # Not signed: proxies on the way may put themselves into a trace.
    trace = {"traceparent": claimed.traceparent, "tracestate": claimed.tracestate} if claimed.traceparent else {}
    request = signed_request(
        method=claimed.method,
        url=claimed.url,
        custom={name: value for name, value in claimed.headers.items() if name.lower() not in trace},
        ours=ours,
        event_id=claimed.event_id,
        event_type=claimed.event_type,
        payload=claimed.payload,
        content_type=claimed.payload_content_type,
        secret=claimed.secret,
        previous_secret=claimed.previous_secret,
        timestamp=timestamp,
        timeout_ms=claimed.timeout_ms,
    )
    return replace(request, headers=[*request.headers, *((name, value) for name, value in trace.items() if value)])


def signed_request(
    *,
    method: str,
    url: str,
    custom: Mapping[str, str],
    ours: Mapping[str, str],
    event_id: uuid.UUID,
    event_type: str,
    payload: bytes,
    content_type: str,
    secret: uuid.UUID,
    previous_secret: uuid.UUID | None,
    timestamp: int,
    timeout_ms: int,
) -> WebhookRequest:
    """Our own headers win over custom ones of the same name.

    While a previous secret signs along, it alone makes `X-Hook0-Signature`: Hook0's clients verify one code, and a
    receiver that still has the old secret must not lose anything.
    """
    body = b"" if method == "HEAD" else payload
    ours = {
        "Content-Type": content_type.removesuffix(BASE64),
        "X-Event-Id": str(event_id),
        # Headers are ASCII: a type in another script goes percent-encoded instead of not at all.
        "X-Event-Type": quote(event_type, safe=_PRINTABLE),
        **ours,
    }
    taken = {name.lower() for name in ours}
    headers = [(name, value) for name, value in custom.items() if name.lower() not in taken]
    headers += ours.items()
    secrets = [str(each) for each in (secret, previous_secret) if each]
    standard = [standard_signature(each, message_id=str(event_id), timestamp=timestamp, body=body) for each in secrets]
    signed = [
        ("X-Hook0-Signature", hook0_signature(secrets[-1], timestamp=timestamp, headers=headers, body=body)),
        ("webhook-id", str(event_id)),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", " ".join(standard)),
        ("User-Agent", USER_AGENT),
    ]
    return WebhookRequest(method, url, headers + signed, body, timeout_ms)
