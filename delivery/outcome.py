"""What a try came to."""

from dataclasses import dataclass, field

# The reasons of failures, as Hook0 names them, and three of ours: an address we must not reach is E_INVALID_TARGET, a
# pump or a consumer that did not come back E_WORKER_LOST, and what a consumer that pulls could not do E_REJECTED.
E_UNKNOWN = "E_UNKNOWN"
E_INVALID_TARGET = "E_INVALID_TARGET"
E_DNS = "E_DNS"
E_CONNECTION = "E_CONNECTION"
E_TIMEOUT = "E_TIMEOUT"
E_HTTP = "E_HTTP"
E_WORKER_LOST = "E_WORKER_LOST"
E_REJECTED = "E_REJECTED"
ERRORS = (E_UNKNOWN, E_INVALID_TARGET, E_DNS, E_CONNECTION, E_TIMEOUT, E_HTTP, E_WORKER_LOST, E_REJECTED)


@dataclass(frozen=True)
class Outcome:
    """The end of one try; `error_name` is None for a success. A failure without an answer explains itself in `body`."""

    error_name: str | None
    http_status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    elapsed_ms: int | None = None
    retry_after: float | None = None  # seconds, if the target asked for a pause

    @property
    def succeeded(self) -> bool:
        return self.error_name is None

    @property
    def is_outage(self) -> bool:
        """Whether the endpoint, rather than this one event, is in trouble: no answer, 5xx, or 429."""
        if self.succeeded or self.error_name == E_REJECTED:
            return False
        return self.http_status is None or self.http_status >= 500 or self.http_status == 429
