"""What a claim costs does not depend on what waits: EXPLAIN (ANALYZE, BUFFERS) at a thousand and at a million."""

import json
import re
import uuid
from collections.abc import Iterator

import pytest

from delivery.database import connect
from delivery.statements import statement
from tests.factories import make_application, make_fifo, make_subscription

LANES = 2_000
READY = 50
SMALL, LARGE = 1_000, 1_000_000
POLL_PAGES = 10

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
SELECT gen_random_uuid(), 1, %(subscription)s, lane.id, seq, now() FROM lane, generate_series(1, tail_seq) AS seq
"""
FILL_LOOSE = """
-- An enormous subscription with due work, retries far ahead at a higher priority, and work of a lower one.
INSERT INTO request_attempt (id, event_id, subscription_id, priority, due_at)
SELECT gen_random_uuid(), 1, %(subscription)s, CASE n %% 4 WHEN 0 THEN 150 WHEN 1 THEN 30 ELSE 100 END,
       CASE n %% 4 WHEN 0 THEN now() + interval '1 day' ELSE now() - n * interval '1 ms' END
  FROM generate_series(1, %(pending)s) AS n
"""


@pytest.fixture
def connection(transactional_db) -> Iterator:
    """As a pump has it: plans are made once, whatever the statistics of the moment."""
    connection = connect(name="plans")
    yield connection
    connection.close()


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

    def read_whole(self) -> set[str]:
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    def sorted_rows(self) -> int:
        return sum(node["Actual Rows"] for node in self.nodes() if "Sort" in node["Node Type"])


def explain(connection, name: str, **parameters) -> Explained:
    """Run a statement as the pump does, with a generic plan, and roll it back."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement(name))))
    text = re.sub(r"%\((\w+)\)s", lambda match: f"${names.index(match[1]) + 1}", statement(name)).replace("%%", "%")
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
        return "'{" + ", ".join(str(each) for each in value) + "}'"
    return f"'{value}'" if isinstance(value, (str, uuid.UUID)) else str(value)


def fill(connection, sql: str, **parameters) -> None:
    connection.execute("TRUNCATE request_attempt, fifo_subscription_state")
    connection.execute(sql, {**parameters, "lanes": LANES, "ready": READY})
    connection.execute("VACUUM ANALYZE request_attempt")
    connection.execute("VACUUM ANALYZE fifo_subscription_state")


def claim_lanes(connection, room: int = READY) -> Explained:
    return explain(connection, "claim_lanes", now=None, low="-infinity", room=room, margin=15.0)


def test_the_claim_of_lanes_costs_the_same_at_a_thousand_and_at_a_million(connection):
    subscription = make_fifo(make_application(), fifo_key="ordering_key").id
    pages = {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LANES, pending=pending, subscription=subscription)
        claim = claim_lanes(connection)
        lanes = connection.execute(
            "SELECT id, head_seq FROM fifo_subscription_state WHERE phase = 1 AND ready_at <= now()"
        ).fetchall()
        assert len(lanes) == READY
        heads = explain(
            connection,
            "heads",
            lanes=[lane for lane, _ in lanes],
            numbers=[number for _, number in lanes],
            epochs=[1] * READY,
            tries=[1] * READY,
            due=["2026-01-01"] * READY,
        )
        for plan in (claim, heads):
            assert not plan.read_whole() & {"fifo_subscription_state", "request_attempt"}
            assert plan.sorted_rows() == 0
        pages[pending] = claim.pages + heads.pages
    assert pages[LARGE] <= 1.1 * pages[SMALL], pages


def test_an_idle_look_at_blocked_and_waiting_lanes_touches_next_to_nothing(connection):
    subscription = make_fifo(make_application(), fifo_key="ordering_key").id
    fill(connection, FILL_LANES, pending=SMALL, subscription=subscription)
    connection.execute(
        "UPDATE fifo_subscription_state SET ready_at = now() + interval '1 hour' WHERE phase = 1 AND ready_at <= now()"
    )
    connection.execute("VACUUM fifo_subscription_state")
    idle = claim_lanes(connection)
    subscriptions = explain(connection, "pick_subscriptions", now=None, low="-infinity", share=50, subscriptions=50)
    assert idle.pages + subscriptions.pages <= POLL_PAGES


def test_taking_from_a_subscription_without_order_does_not_walk_the_backlog(connection):
    subscription = make_subscription(make_application(), max_in_flight=1000).id
    pages = {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LOOSE, pending=pending, subscription=subscription)
        take = explain(connection, "take_attempts", subscriptions=[subscription], rooms=[READY], now=None, margin=15.0)
        assert "request_attempt" not in take.read_whole()
        assert take.sorted_rows() == 0
        assert take.plan["Actual Rows"] == READY
        pages[pending] = take.pages
    # Here the rows that are leased lie in indexes that grow with the backlog: a level or two deeper, and no more.
    assert pages[LARGE] <= pages[SMALL] + 3 * READY, pages


def test_looking_for_what_is_due_next_does_not_walk_the_backlog(connection):
    subscription = make_subscription(make_application()).id
    pages = {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LOOSE, pending=pending, subscription=subscription)
        settle = explain(
            connection, "settle_subscriptions", subscriptions=[subscription], rooms=[1], taken=[0], idle=["true"]
        )
        assert "request_attempt" not in settle.read_whole()
        pages[pending] = settle.pages
    assert pages[LARGE] <= pages[SMALL] + 10, pages  # three priorities, two more levels of the index at most


@pytest.mark.parametrize("name", ["reap_lanes", "reap_attempts"])
def test_the_reaper_looks_at_leases_alone(connection, name):
    application = make_application()
    fill(connection, FILL_LANES, pending=SMALL, subscription=make_fifo(application, fifo_key="ordering_key").id)
    reap = explain(connection, name, now=None)
    assert not reap.read_whole() & {"fifo_subscription_state", "request_attempt"}
    assert reap.pages <= POLL_PAGES
