"""No page of the admin reads a large table as a whole: the plans of all that they ask, of large tables."""

import json
from contextlib import contextmanager

import pytest
from django.db import connection

from subscriptions.models import Subscription
from tenants.staff import EVERYWHERE, OPERATORS
from tests.admin.conftest import make_person
from tests.plans.admin_pages import LARGE, addresses, fill
from tests.plans.explain import Explained

ROWS = 60_000
MOST_ROWS = 15_000  # a count of what waits ends at ten thousand
MOST_PAGES = 3_000  # of 8 KiB, by all statements of a page: a fraction of what it takes to read the tables
# Where no index has what is asked for: some for each of the delivery.attempts.LOOKED_AT, pending and ended.
MOST_PAGES_LOOKED_AT = 10_000


@pytest.fixture
def pages(transactional_db):
    """Pages over tables that are large, by their names."""
    fill(ROWS)
    yield dict(addresses())
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE attempt_log, request_attempt")


@contextmanager
def explained():
    """The plans of what is asked of the large tables inside."""
    plans = []

    def explain(execute, sql, params, many, context):
        if sql.lstrip().startswith(("SELECT", "WITH", "--")) and any(table in sql for table in LARGE):
            execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, many, context)
            (answer,) = context["cursor"].fetchone()
            plan = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
            plans.append((sql, Explained(plan)))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield plans


def walked(plan):
    """Large tables that are read from the beginning, and for how long. (Days without a try are read at once.)"""
    for node in plan.nodes():
        rows = node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        if node["Node Type"] == "Seq Scan" and node["Relation Name"].startswith(LARGE) and rows > MOST_ROWS:
            yield node["Relation Name"], rows


@pytest.mark.parametrize("groups", [(OPERATORS, EVERYWHERE), (OPERATORS,)], ids=["all", "one organization"])
def test_no_page_reads_a_large_table_as_a_whole(pages, groups):
    application = Subscription.objects.first().application
    operator = make_person("olga", *groups, of=application)
    costs = {}
    for name, address in pages.items():
        with explained() as plans:
            assert operator.get(address).status_code == 200, name
        for sql, plan in plans:
            assert not set(walked(plan)), (name, sql, list(walked(plan)))
        costs[name] = sum(plan.pages for _, plan in plans)
    most = {name: MOST_PAGES_LOOKED_AT if name.startswith("attempts") else MOST_PAGES for name in costs}
    assert {name: pages for name, pages in costs.items() if pages > most[name]} == {}, costs
