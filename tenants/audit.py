"""Who did what to tenants. The record is kept above (`delivery.audit`), which listens here."""

import uuid
from collections.abc import Callable
from typing import Any

from tenants.principal import Operator

on_done: list[Callable[..., None]] = []


def note(by: Operator | None, action: str, *, application_id: uuid.UUID | None = None, **details: Any) -> None:
    """Put an action on the record, in the transaction that carries it out; not what a program of ours does."""
    for listen in on_done if by else ():
        listen(by, action, application_id=application_id, **details)
