"""The pump's own connection: Django's turns off what the hot path lives from."""

from typing import Any

import psycopg
from django.db import connections

# The statements are few and fixed, so their plans are made once; and no statistics of the moment may talk the
# planner into reading a whole table, or a whole index for a hash: every join is a probe (tests/plans holds that).
# A lost record is a repeated request, which at-least-once allows, so recording does not wait for the disk
# (ingest does: a 201 is durable).
_SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "synchronous_commit": "off",
    "lock_timeout": "500ms",  # who holds a lane or a subscription for longer holds up nobody else (Queue.record)
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "30s",
}


def connect(*, name: str) -> psycopg.Connection[Any]:
    """A connection in autocommit to Django's database, with the settings of a pump."""
    parameters = connections["default"].get_connection_params()
    for unwanted in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(unwanted, None)
    options = [parameters.pop("options", ""), *(f"-c {setting}={value}" for setting, value in _SETTINGS.items())]
    return psycopg.connect(
        **parameters,
        autocommit=True,
        prepare_threshold=0,
        application_name=name,
        options=" ".join(options).strip(),
    )
