"""Signatures of webhooks: Hook0's, which its clients verify, and Standard Webhooks', which everybody's do."""

import base64
import hashlib
import hmac
from collections.abc import Iterable

Headers = Iterable[tuple[str, str]]


def hook0_signature(secret: str, *, timestamp: int, headers: Headers, body: bytes) -> str:
    """The value of `X-Hook0-Signature`: time, the names of the covered headers, and the code over them and the body."""
    covered = sorted((name.lower(), value) for name, value in headers)
    names = " ".join(name for name, _ in covered)
    values = ".".join(value for _, value in covered)
    message = f"{timestamp}.{names}.{values}.".encode() + body
    return f"t={timestamp},h={names},v1={hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()}"


def standard_signature(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`. Libraries take the secret as `whsec_` + base64 of its text."""
    message = f"{message_id}.{timestamp}.".encode() + body
    code = hmac.new(secret.encode(), message, hashlib.sha256).digest()
    return "v1," + base64.b64encode(code).decode()


def standard_secret(secret: str) -> str:
    """The signing secret as libraries for Standard Webhooks want it."""
    return "whsec_" + base64.b64encode(secret.encode()).decode()
