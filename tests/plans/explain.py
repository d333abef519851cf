"""Tables that are filled to a size, and what a statement of the queue touches in them."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

from delivery.statements import QUEUE, positional, statement

LANES = 2_000
READY = 50

# What all deliveries are of.
AN_EVENT = """
INSERT INTO event (id, event_id, application_id, event_type, payload, payload_content_type, labels, metadata,
                   occurred_at)
SELECT 0, gen_random_uuid(), application_id, 'shop.order.paid', '{}', 'application/json', '{}', '{}', now()
  FROM subscription WHERE id = %(subscription)s
    ON CONFLICT DO NOTHING
"""
FILL_LANES = """
-- One lane holds nearly all there is; the others a few each. Most are blocked, the rest wait for a retry hours ahead,
-- but for the ready ones.
WITH size AS (
  SELECT n AS id, CASE WHEN n = 1 THEN greatest(1, %(pending)s - 3 * (%(lanes)s - 1)) ELSE 3 END AS depth
    FROM generate_series(1, %(lanes)s) AS n
),
lane AS (
  INSERT INTO fifo_subscription_state (subscription_id, key, tail_seq, phase, ready_at, since)
  SELECT %(subscription)s, 'key ' || id, depth,
         CASE WHEN id <= %(ready)s THEN 1 WHEN id %% 10 = 0 THEN 1 ELSE 3 END,
         CASE WHEN id <= %(ready)s THEN now() - id * interval '1 ms'
              WHEN id %% 10 = 0 THEN now() + interval '1 hour' + id * interval '1 s' END,
         CASE WHEN id > %(ready)s AND id %% 10 <> 0 THEN now() END
    FROM size
  RETURNING id, tail_seq
)
INSERT INTO request_attempt (id, event_id, subscription_id, lane_id, lane_seq, due_at)
SELECT gen_random_uuid(), 0, %(subscription)s, lane.id, seq, now() FROM lane, generate_series(1, tail_seq) AS seq
"""
FILL_LOOSE = """
-- An enormous subscription with due work, retries far ahead at a higher priority, and work of a lower one.
INSERT INTO request_attempt (id, event_id, subscription_id, priority, due_at)
SELECT gen_random_uuid(), 0, %(subscription)s, CASE n %% 4 WHEN 0 THEN 150 WHEN 1 THEN 30 ELSE 100 END,
       CASE n %% 4 WHEN 0 THEN now() + interval '1 day' ELSE now() - n * interval '1 ms' END
  FROM generate_series(1, %(pending)s) AS n
"""


class Explained:
    """A plan that was carried out, undone, and what it touched."""

    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    def nodes(self, node=None) -> Iterator[dict]:
        node = node or self.plan
        yield node
        for child in node.get("Plans", []):
            yield from self.nodes(child)

    def rows_of(self, part: str) -> int:
        """How many rows a part of the statement, named in its WITH, brought."""
        return next(int(node["Actual Rows"]) for node in self.nodes() if node.get("Subplan Name") == f"CTE {part}")

    def compared_in_vain(self) -> int:
        """Pairs of rows that were held against each other one by one, and did not fit."""
        return sum(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"] for node in self.nodes())

    def read_whole(self) -> set[str]:
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    def sorted_rows(self) -> int:
        return sum(node["Actual Rows"] for node in self.nodes() if "Sort" in node["Node Type"])


def explain(connection, name: str, *, folder: Path = QUEUE, **parameters) -> Explained:
    """Run a statement as the pump does, with a generic plan, and roll it back."""
    text, names = positional(statement(name, folder))
    values = ", ".join(_literal(parameters[each]) for each in names)
    prepared = f"plan_{uuid.uuid4().hex[:8]}"
    connection.execute(f"PREPARE {prepared} AS {text}")
    with connection.transaction(force_rollback=True):
        (answer,) = connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {prepared} ({values})"
        ).fetchone()
    return Explained((json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"])


def _literal(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "'{" + ", ".join(f'"{each}"' for each in value) + "}'"
    return f"'{value}'" if isinstance(value, (str, uuid.UUID)) else str(value)


def fill(connection, sql: str, **parameters) -> None:
    connection.execute("SET lock_timeout = 0")
    connection.execute("TRUNCATE request_attempt, fifo_subscription_state")
    connection.execute(AN_EVENT, parameters)
    connection.execute(sql, {**parameters, "lanes": LANES, "ready": READY})
    connection.execute("VACUUM ANALYZE request_attempt")
    connection.execute("VACUUM ANALYZE fifo_subscription_state")


def claim_lanes(connection, room: int = READY) -> Explained:
    return explain(connection, "claim_lanes", pool=0, now=None, low="-infinity", room=room, margin=15.0)


def heads_of(connection) -> Explained:
    """The second half of a claim: the heads of all lanes that are ready."""
    lanes = connection.execute(
        "SELECT id, head_seq FROM fifo_subscription_state WHERE phase = 1 AND ready_at <= now()"
    ).fetchall()
    assert len(lanes) == READY
    explained = explain(
        connection,
        "heads",
        lanes=[lane for lane, _ in lanes],
        numbers=[number for _, number in lanes],
        epochs=[1] * READY,
        tries=[1] * READY,
        timeouts=[15_000] * READY,
        due=["2026-01-01"] * READY,
    )
    assert explained.plan["Actual Rows"] == READY
    return explained
