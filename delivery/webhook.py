"""The request of a webhook: what is sent where, as a plain value."""

from dataclasses import dataclass
from urllib.parse import quote

from delivery.claimed import Claimed
from delivery.signatures import hook0_signature, standard_signature

USER_AGENT = "hook0/1"
_BASE64 = "+base64"  # says how the payload came in; what goes out are the bytes
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F))


@dataclass(frozen=True)
class WebhookRequest:
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    timeout_ms: int


def build_request(claimed: Claimed, *, timestamp: int) -> WebhookRequest:
    """Sign and address one try. Our own headers win over custom ones of the same name."""
    event_id = str(claimed.event_id)
    body = b"" if claimed.method == "HEAD" else claimed.payload
    ours = {
        "Content-Type": claimed.payload_content_type.removesuffix(_BASE64),
        "X-Event-Id": event_id,
        # Headers are ASCII: a type in another script goes percent-encoded instead of not at all.
        "X-Event-Type": quote(claimed.event_type, safe=_PRINTABLE),
        "X-Hook0-Delivery-Id": str(claimed.delivery_id),
        "X-Hook0-Attempt": str(claimed.try_number),
    }
    if claimed.lane_id is not None:
        ours["X-Hook0-Lane"] = str(claimed.lane_id)
        ours["X-Hook0-Sequence"] = str(claimed.lane_seq)
    taken = {name.lower() for name in ours}
    headers = [(name, value) for name, value in claimed.headers.items() if name.lower() not in taken]
    headers += ours.items()
    secret = str(claimed.secret)
    signed = [
        ("X-Hook0-Signature", hook0_signature(secret, timestamp=timestamp, headers=headers, body=body)),
        ("webhook-id", event_id),
        ("webhook-timestamp", str(timestamp)),
        (
            "webhook-signature",
            standard_signature(secret, message_id=event_id, timestamp=timestamp, body=body),
        ),
        ("User-Agent", USER_AGENT),
    ]
    return WebhookRequest(claimed.method, claimed.url, headers + signed, body, claimed.timeout_ms)
