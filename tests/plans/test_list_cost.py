"""What a page of the attempts costs does not depend on how many there are, or on how many days they lie in."""

import json
import uuid
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery.attempts import Sought, find_attempts
from delivery.models import AttemptLog
from subscriptions.models import Subscription
from tests.factories import make_application, make_subscription
from tests.plans.explain import Explained

SMALL, LARGE = 20_000, 300_000
DAYS = 10
SUBSCRIPTIONS = 20
PROBES = 300  # of an index of every day and of every subscription; a walk takes thousands
PAGE = 51
LARGE_TABLES = ("attempt_log", "request_attempt")

FILL_EVENTS = """
INSERT INTO event (id, event_id, application_id, event_type, payload, payload_content_type, labels, metadata,
                   occurred_at)
SELECT n, gen_random_uuid(), %(application)s, 'billing.invoice.paid', 'x', 'text/plain', '{}', '{}', now()
  FROM generate_series(0, %(size)s / 4) AS n
"""
FILL = """
-- Half of all belongs to the application, one in a hundred tries has failed; the ids are made as the days go by.
INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, try_number, succeeded, accepted,
                         error_name, http_status, created_at, due_at, picked_at, ended_at)
SELECT id, id, n / 4, (%(subscriptions)s::uuid[])[1 + n %% 40],
       CASE WHEN n %% 40 < 20 THEN %(application)s::uuid ELSE %(other)s::uuid END, 1, n %% 100 <> 7, true,
       CASE WHEN n %% 100 = 7 THEN 'E_HTTP' END, CASE WHEN n %% 100 = 7 THEN 500 ELSE 200 END, at, at, at, at
  FROM generate_series(1, %(size)s) AS n,
       LATERAL (SELECT now() - %(days)s * interval '1 day' * (1 - n::float / %(size)s) AS at) AS moment,
       LATERAL (SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000'
                        || substr(replace(gen_random_uuid()::text, '-', ''), 17, 12) || '0000')::uuid AS id) AS made
"""
FILL_PENDING = """
INSERT INTO request_attempt (id, event_id, subscription_id, due_at, epoch, lease_until)
SELECT new_delivery_id(), n / 4, (%(subscriptions)s::uuid[])[1 + n %% 40], now(), CASE WHEN n <= 200 THEN 1 END,
       CASE WHEN n <= 200 THEN now() END
  FROM generate_series(1, %(size)s) AS n
"""
VACUUMS = [f"VACUUM ANALYZE {table}" for table in ("event", "attempt_log", "request_attempt")]


@pytest.fixture
def tables(transactional_db):
    """Two applications with as many subscriptions, and days for the log; the second is in the way of the first."""
    today = datetime.now(UTC).date()
    application, other = make_application(), make_application()
    subscriptions = [make_subscription(each).id for each in (application, other) for _ in range(SUBSCRIPTIONS)]
    with connection.cursor() as cursor:
        for day in range(DAYS + 1):
            cursor.execute("SELECT make_attempt_log_partition(%s)", [today - timedelta(days=day)])

        def fill(size):
            cursor.execute("TRUNCATE attempt_log, request_attempt, event")
            parameters = {
                "application": application.id, "other": other.id, "subscriptions": subscriptions, "size": size,
                "days": DAYS,
            }  # fmt: skip
            for sql in (FILL_EVENTS, FILL, FILL_PENDING, *VACUUMS):
                cursor.execute(sql, parameters)

        yield application, fill
        cursor.execute("TRUNCATE attempt_log")
    for name in _past(today):
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {name}")


def _past(today):
    return [f"attempt_log_{today - timedelta(days=day):%Y%m%d}" for day in range(1, DAYS + 1)]


@contextmanager
def explained():
    """The plans of what is executed inside."""
    plans = []

    def explain(execute, sql, params, many, context):
        if "attempt_log" not in sql:
            return execute(sql, params, many, context)
        execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, many, context)
        (answer,) = context["cursor"].fetchone()
        plans.append(Explained((json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield plans


def test_a_page_costs_the_same_in_a_small_log_and_in_a_large_one(tables):
    application, fill = tables
    pages = {}
    for size in (SMALL, LARGE):
        fill(size)
        one = Subscription.objects.filter(application=application).first().id
        middle = AttemptLog.objects.filter(application=application).order_by("id")[size // 4].id
        everything = Sought(application.id)
        for name, sought in {
            "all": everything,
            "from the middle": replace(everything, before=middle),
            "pending": replace(everything, states=["pending"]),
            "ended": replace(everything, states=["successful", "failed"]),
            "failed": replace(everything, states=["failed"]),
            "an error": replace(everything, error_name="E_HTTP"),
            "a status": replace(everything, http_status=500),
            "a type": replace(everything, event_types=["billing.%"]),
            "of one subscription": replace(everything, subscription_id=one),
            "ended, of one": replace(everything, subscription_id=one, states=["successful"]),
        }.items():
            with explained() as plans:
                assert len(find_attempts(sought, most=PAGE)) == PAGE
            (plan,) = plans
            assert not {each for each in plan.read_whole() if each.startswith(LARGE_TABLES)}, name
            pages.setdefault(name, []).append(plan.pages)
    assert {name: (small, large) for name, (small, large) in pages.items() if large > 1.5 * small} == {}


def test_one_attempt_and_those_of_one_event_are_probed_for(tables):
    application, fill = tables
    fill(LARGE)
    (some,) = AttemptLog.objects.filter(application=application).order_by("id")[LARGE // 4 : LARGE // 4 + 1]
    one = Sought(application.id, since=some.id, before=uuid.UUID(int=some.id.int + 1))
    for sought in (one, Sought(application.id, event_id=some.event.event_id)):
        with explained() as plans:
            found = find_attempts(sought, most=PAGE)
        assert some.id in {each.id for each in found}
        assert plans[0].pages <= PROBES, sought
