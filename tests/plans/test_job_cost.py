"""What it costs to assign jobs does not depend on how many wait: at a thousand, and at a hundred thousand."""

import uuid

import pytest
from django.db import connection as django_connection

from delivery.jobs import Queue
from delivery.jobs.queues import create_queue
from delivery.jobs.rows import SQL
from tests.factories import make_application
from tests.plans.explain import explain

SIZES = SMALL, LARGE = 1_000, 100_000
BATCH = 10
FILL = """
INSERT INTO job (queue_id, job_id, status, type, definition, tags, key, has_turn, priority, created_at)
SELECT %(queue)s, 'job ' || n, CASE WHEN n <= %(done)s THEN 'COMPLETED' ELSE 'INITIAL_PENDING' END, '', '',
       CASE WHEN n = %(size)s THEN '{common,rare}' ELSE '{common}' END::text[],
       CASE WHEN %(fifo)s THEN CASE WHEN n %% %(every)s = 0 THEN 'key ' || n ELSE 'crowded' END END,
       NOT %(fifo)s OR n %% %(every)s = 0, 100 + n %% 3, now() - (%(size)s - n) * interval '1 ms'
  FROM generate_series(1, %(size)s) AS n
"""
BLOCKER = """
INSERT INTO job (queue_id, job_id, status, type, definition, tags, key, has_turn, priority)
VALUES (%s, 'blocker', 'EXHAUSTED', '', '', '{}', 'crowded', true, 100)
"""


@pytest.fixture
def connection(transactional_db):
    """As services have it."""
    django_connection.ensure_connection()
    return django_connection.connection


def fill(connection, size: int, *, fifo: bool = False, done: int = 0) -> Queue:
    connection.execute("TRUNCATE job, job_queue")
    queue = Queue(create_queue(make_application().id, f"jobs {size}", is_fifo=fifo))
    every = size // 50
    connection.execute(FILL, {"queue": queue.id, "size": size, "fifo": fifo, "every": every, "done": done})
    if fifo:
        connection.execute(BLOCKER, [queue.id])
    connection.execute("VACUUM ANALYZE job")
    return queue


def claim(connection, queue: Queue, name: str = "claim", **more):
    wanted = {"queue": queue.id, "assignee": "me", "most": BATCH, "at_once": BATCH, "stream": uuid.uuid4(), **more}
    return explain(connection, name, folder=SQL, **wanted)


@pytest.mark.parametrize("kind", [{}, {"fifo": True}, {"done": 900}], ids=["plain", "fifo", "mostly done"])
def test_a_claim_costs_the_same_at_a_thousand_and_at_a_hundred_thousand(connection, kind):
    """In the FIFO queue nearly all wait behind one job that blocks its key."""
    pages = {}
    for size in SIZES:
        done = kind.get("done", 0) * size // SMALL
        plan = claim(connection, fill(connection, size, **{**kind, "done": done}))
        assert plan.plan["Actual Rows"] == BATCH
        pages[size] = plan.pages
    assert "job" not in plan.read_whole()
    assert plan.sorted_rows() <= BATCH  # the answer alone
    # What is assigned is written into indexes that grow with the table: they are a level deeper.
    assert pages[LARGE] <= 1.2 * pages[SMALL], pages


@pytest.mark.parametrize("tags", [["common"], ["rare"], ["rare", "common"], ["of nobody"]], ids="+".join)
def test_a_claim_by_tags_does_not_walk_the_backlog(connection, tags):
    """Common tags are met on the way, and rare ones are looked up."""
    pages = {}
    for size in SIZES:
        plan = claim(connection, fill(connection, size), "claim_tagged", tags=tags, everything=False)
        pages[size] = plan.pages
    assert "job" not in plan.read_whole()
    assert pages[LARGE] <= 1.2 * pages[SMALL], pages


def test_looking_into_a_queue_with_nothing_to_assign_touches_next_to_nothing(connection):
    queue = fill(connection, LARGE, done=LARGE)
    assert claim(connection, queue).pages <= 10
    assert claim(connection, queue, "claim_tagged", tags=["common"], everything=False).pages <= 20
    assert explain(connection, "queues_with_jobs", folder=SQL, queues=[queue.id]).pages <= 10


def test_giving_a_turn_does_not_walk_those_that_wait(connection):
    pages = {}
    for size in SIZES:
        queue = fill(connection, size, fifo=True)
        connection.execute("DELETE FROM job WHERE job_id = 'blocker'")
        plan = explain(connection, "promote", folder=SQL, queue=queue.id, keys=["crowded"])
        assert "job" not in plan.read_whole()
        pages[size] = plan.pages
    assert pages[LARGE] <= pages[SMALL] + 15, pages
