"""What an operator sees of the running product, by a real Prometheus: traffic, a failing endpoint, a blocked lane."""

import json
import math
import os
import re
import subprocess
import sys

import psycopg
import pytest
import requests

from tests.cluster import ROOT
from tests.flow.conftest import running_product
from tests.flow.prometheus import wait_until
from tests.flow.test_first_webhook import call
from tests.flow.trouble import product_in_trouble
from tests.monitoring.watching import alerts, filled_in, queries, rules, selectors_of

pytestmark = pytest.mark.flow

# The API of this run fails nobody and refuses nobody.
NEVER_HERE = {f'hook0_api_request_duration_seconds_count{{status="{status}"}}' for status in ("5xx", "429")}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A product of its own: others leave lanes that are blocked, and deliveries that nobody fetches."""
    folder = tmp_path_factory.mktemp("prometheus")
    with running_product() as product, product_in_trouble(product, folder, at_once=True) as watched:
        # What is slowest to show: a ratio over the rate of a counter, and a snapshot of the tables.
        watched.prometheus.wait_for("hook0:tries_error_ratio:rate6h > 0")
        watched.prometheus.wait_for('sum(hook0_lanes{phase="blocked"}) > 0')
        watched.prometheus.wait_for('sum(rate(hook0_events_refused_total{route="batch"}[1m])) > 0')
        yield watched


@pytest.mark.parametrize(
    ("dashboard", "panel", "legend", "expression"),
    [pytest.param(*query, id=f"{query[0].uid}: {query[1].title}: {query[2]}") for query in queries()],
)
def test_a_panel_shows_numbers_with_a_legend(watched, dashboard, panel, legend, expression):
    asked = filled_in(expression, subscription=watched.slow)
    shown = []

    def shows_numbers():
        shown[:] = watched.prometheus.query(asked)
        return shown and all(math.isfinite(float(series["value"][1])) for series in shown)

    wait_until(shows_numbers, asked)
    for series in shown:
        if "vector(0)" not in expression:
            assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= set(series["metric"]), series
    for selector in selectors_of(asked) - NEVER_HERE:
        assert watched.prometheus.query(f"count({selector})"), selector


@pytest.mark.parametrize("rule", [*alerts(), *rules("rules.yml")], ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_looks_at_metrics_that_are_there(watched, rule):
    for selector in selectors_of(rule["expr"]) - NEVER_HERE:
        assert watched.prometheus.query(f"count({selector})"), selector
    name = rule.get("alert") or rule["record"]
    (loaded,) = [each for each in watched.prometheus.rules() if each["name"] == name]
    assert loaded["health"] == "ok", loaded


def test_the_alerts_of_the_trouble_that_was_made_fire_and_others_do_not(watched):
    budget = {"Hook0ErrorBudgetBurnsFast", "Hook0ErrorBudgetBurnsSlowly"}
    of_jobs = {"Hook0NoJobWorker", "Hook0JobsWait", "Hook0ExhaustedJobsGrow"}
    expected = {"Hook0LaneBlocked", "Hook0DeadLettersGrow", *budget, *of_jobs}
    wait_until(lambda: expected <= watched.prometheus.firing(), f"{expected} to fire")
    quiet = {"Hook0NoPump", "Hook0NoBeat", "Hook0JobFails", "Hook0Blind", "Hook0PartitionsRunOut", "Hook0LaneHeld"}
    assert not quiet & watched.prometheus.firing()


def test_metrics_agree_with_the_database(watched):
    with psycopg.connect(watched.product.credentials.database_url, autocommit=True) as connection:
        ((blocked,),) = connection.execute("SELECT count(*) FROM fifo_subscription_state WHERE phase = 3").fetchall()
        ((waiting,),) = connection.execute(
            "SELECT count(*) FROM request_attempt WHERE subscription_id = %s", [watched.held]
        ).fetchall()
    watched.prometheus.wait_for(f'sum(hook0_lanes{{phase="blocked"}}) == {blocked}')
    watched.prometheus.wait_for(f'fifo_subscription_queue_depth{{subscription_id="{watched.held}"}} == {waiting}')
    assert (blocked, waiting) == (1, 3)


def test_counters_survive_a_worker_that_is_killed(watched):
    """The supervisor starts another one; what the dead one counted stays counted."""
    total = "sum(hook0_delivery_tries_total)"
    (before,) = watched.prometheus.query(total)
    pid = next(
        int(row[0].split(":")[-1])
        for row in psycopg.connect(watched.product.credentials.database_url)
        .execute("SELECT process FROM running_pump ORDER BY seen_at DESC")
        .fetchall()
    )
    os.kill(pid, 9)
    watched.prometheus.wait_for(f"{total} > {float(before['value'][1]) + 20}")
    assert not watched.prometheus.query(f"resets({total}[1m:1s]) > 0")


def test_fifo_status_shows_what_the_dashboard_shows(watched):
    shown = subprocess.run(
        [sys.executable, "manage.py", "fifo_status", "--json"],
        cwd=ROOT,
        env={
            **os.environ,
            "HOOK0_HOME": str(watched.product.home),
            "DATABASE_URL": watched.product.credentials.database_url,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    why = {lane["subscription_id"]: lane["why"] for lane in json.loads(shown.stdout)}
    assert why[watched.blocked] == "retries used up"
    assert why[watched.held] == "retrying"


def test_the_log_says_which_subscriptions_wait(watched):
    said = f"[FIFO] Subscription {watched.held} blocked - waiting for request attempt "
    wait_until(lambda: said in watched.product.output, said)
    assert f"[FIFO] Subscription {watched.blocked} blocked - request attempt " in watched.product.output


def test_the_product_is_ready_and_says_so(watched):
    origin = watched.product.credentials.api_url.removesuffix("/api/v1")
    assert requests.get(f"{origin}/livez", timeout=30).status_code == 200
    answer = requests.get(f"{origin}/readyz", timeout=30)
    assert answer.status_code == 200, answer.text


def test_an_alert_is_over_when_an_operator_has_acted(watched):
    """The last of these tests: it unblocks the lane, and works off the jobs."""
    acted_upon = {"Hook0LaneBlocked", "Hook0NoJobWorker", "Hook0JobsWait", "Hook0ExhaustedJobsGrow"}
    assert acted_upon <= watched.prometheus.firing()
    watched.receiver.behaviours.pop("/blocked")
    call(watched.product, "POST", f"subscriptions/{watched.blocked}/retry_blocked/", over_seconds=0)
    watched.work_off_jobs()
    wait_until(lambda: not acted_upon & watched.prometheus.firing(), f"{acted_upon} to be over")
