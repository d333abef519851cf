"""What a look at the tables costs depends on what is stuck, not on what waits or on how many lanes there ever were."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from delivery.statements import statement
from monitoring import jobs
from monitoring.snapshot import COUNTED_JOBS, SQL, STATEMENTS
from tests.factories import make_application, make_fifo
from tests.plans.explain import Explained

BUSY = 300
FLAT = 1.3
COUNTED = 100_000  # beyond that, an estimate

FILL = """
-- Lanes that hold something, one of them nearly all there is, and lanes that are empty.
INSERT INTO fifo_subscription_state (subscription_id, key, head_seq, tail_seq, phase, ready_at, lease_until, since)
SELECT %(subscription)s, 'key ' || n, 1, CASE WHEN n > %(busy)s THEN 0 WHEN n = 1 THEN %(pending)s ELSE 1 END, phase,
       CASE WHEN phase = 1 THEN now() - interval '1 min' END, CASE WHEN phase = 2 THEN now() END,
       CASE WHEN phase = 3 THEN now() - interval '1 hour' END
  FROM generate_series(1, %(busy)s + %(empty)s) AS n,
       LATERAL (SELECT CASE WHEN n > %(busy)s THEN 0 ELSE 1 + n %% 4 END AS phase) AS p;
INSERT INTO request_attempt (id, event_id, subscription_id, due_at, lane_id, lane_seq)
SELECT new_delivery_id(), 1, subscription_id, now(), id, seq
  FROM fifo_subscription_state, generate_series(1, tail_seq) AS seq
"""


@pytest.fixture
def cost(transactional_db):
    """The pages that each statement touches, with so many pending and so many empty lanes."""
    subscription = make_fifo(make_application()).id
    intervals = jobs.intervals()
    parameters: dict[str, Any] = {
        "most": settings.METRICS_SUBSCRIPTIONS,
        "counted_jobs": COUNTED_JOBS,
        "jobs": list(intervals),
        "intervals": list(intervals.values()),
    }

    def cost(*, pending: int, empty: int) -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE request_attempt, fifo_subscription_state")
            fill: dict[str, Any] = {"subscription": subscription, "busy": BUSY, "pending": pending, "empty": empty}
            for part in FILL.split(";"):
                cursor.execute(part, fill)
            cursor.execute("VACUUM ANALYZE request_attempt")
            cursor.execute("VACUUM ANALYZE fifo_subscription_state")
            pages = {}
            for name in STATEMENTS:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement(name, SQL)}", parameters)
                (answer,) = cursor.fetchone()
                pages[name] = Explained((json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]).pages
        return pages

    return cost


def test_a_look_is_flat_in_what_waits_and_in_empty_lanes(cost):
    small, large = cost(pending=COUNTED + 1_000, empty=1_000), cost(pending=4 * COUNTED, empty=100_000)
    assert {name: (small[name], large[name]) for name in STATEMENTS if large[name] > FLAT * small[name] + 20} == {}


STATES = 6  # of jobs that are not over

FILL_JOBS = """
INSERT INTO job_queue (id, application_id, name)
SELECT gen_random_uuid(), %(application)s, 'queue ' || n FROM generate_series(1, %(queues)s) AS n;
INSERT INTO job (queue_id, job_id, status, type, definition, tags, has_turn, priority)
SELECT q.id, 'job ' || n, 'INITIAL_PENDING', '', '', '{}', true, 100 FROM job_queue q, generate_series(1, %(jobs)s) AS n
"""


def test_jobs_are_counted_up_to_an_amount_however_many_queues_there_are(transactional_db):
    queues, jobs, counted = 50, 400, 2_000
    with connection.cursor() as cursor:
        given: dict[str, Any] = {"application": make_application().id, "queues": queues, "jobs": jobs}
        for part in FILL_JOBS.split(";"):
            cursor.execute(part, given)
        cursor.execute("VACUUM ANALYZE job")
        asked = {"most": settings.METRICS_SUBSCRIPTIONS, "counted_jobs": counted}
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement('job_queues', SQL)}", asked)
        (answer,) = cursor.fetchone()
    plan = Explained((json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"])
    read = sum(
        node["Actual Rows"] * node["Actual Loops"] for node in plan.nodes() if node.get("Relation Name") == "job"
    )
    assert counted <= read <= counted + queues * STATES
