"""Custom headers of a webhook: which will do, and which are ours or the connection's."""

import re

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
_OURS = frozenset({
    "connection", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
})  # fmt: skip
_OUR_PREFIXES = ("x-hook0-", "x-event-", "webhook-")


def complaint_about(name: str, value: str) -> str | None:
    """What is wrong with a header; None when it will do."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is not the name of a header."
    if name.lower() in _OURS or name.lower().startswith(_OUR_PREFIXES):
        return f"{name} is set by us and cannot be chosen."
    if not _VALUE.fullmatch(value):
        return f"The value of {name} must be printable ASCII on one line."
    return None
