"""The trace that an event belongs to, as the W3C writes it: whoever sends an event hands it on to who receives it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

TRACESTATE_CHARACTERS = 512
# A version that we do not know is read as far as we do.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_TRACESTATE = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True)
class Trace:
    """What is handed on; None where there is no trace."""

    traceparent: str | None = None
    tracestate: str | None = None


NO_TRACE = Trace()


def read_trace(headers: Mapping[str, str]) -> Trace:
    """The trace of a request. What is not one is nothing, as the specification asks: no event is refused for it."""
    sent = headers.get("traceparent", "").strip()
    found = _TRACEPARENT.fullmatch(sent)
    if not found or (sent.startswith("00-") and found[4]):
        return NO_TRACE
    state = headers.get("tracestate", "").strip()
    may_go = len(state) <= TRACESTATE_CHARACTERS and _TRACESTATE.fullmatch(state)
    return Trace(f"00-{found[1]}-{found[2]}-{found[3]}", state if may_go else None)
