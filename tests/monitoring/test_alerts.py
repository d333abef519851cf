"""The alerts as files: when they fire and stop, and that somebody who is woken finds a page."""

import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction
from ruamel.yaml import YAML

from monitoring import jobs
from tests.monitoring.watching import RULES, alerts, tool

RUNBOOKS = Path(settings.BASE_DIR) / "docs" / "runbooks"
SQL = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
each_alert = pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])


def promtool(*arguments):
    return subprocess.run([tool("promtool"), *arguments], cwd=RULES, capture_output=True, text=True, check=False)


def test_promtool_has_nothing_against_the_rules():
    checked = promtool("check", "rules", "rules.yml", "alerts.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_promtool_has_nothing_against_the_configuration():
    checked = promtool("check", "config", "prometheus.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_alerts_fire_when_they_should_and_stop_when_they_should():
    tested = promtool("test", "rules", "tests.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_broken_rule_would_fail_that_test(tmp_path):
    for file in ("rules.yml", "alerts.yml", "tests.yml"):
        (tmp_path / file).write_text((RULES / file).read_text().replace(") > 300\n", ") > 3000\n"))
    tested = subprocess.run(
        [tool("promtool"), "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert tested.returncode != 0
    assert "Hook0LaneHeld" in tested.stdout + tested.stderr


@each_alert
def test_it_is_shown_to_fire_and_to_stop(alert):
    tests = [test for test in YAML(typ="safe").load(RULES / "tests.yml")["tests"] if test["name"] == alert["alert"]]
    assert tests
    for test in tests:
        fires = [len(check["exp_samples"]) for check in test["promql_expr_test"]]
        assert fires == [0, 1, 0]


@each_alert
def test_it_says_how_bad_it_is_and_what_to_do(alert):
    assert alert["labels"]["severity"] in {"warning", "critical"}
    notes = alert["annotations"]
    assert notes["summary"]
    assert notes["description"].endswith(".")
    slug = re.sub(r"(?<!^)([A-Z])", r"-\1", alert["alert"].removeprefix("Hook0")).lower()
    assert notes["runbook"] == f"docs/runbooks/{slug}.md"
    page = (RUNBOOKS / f"{slug}.md").read_text()
    assert f"`{alert['alert']}`, {alert['labels']['severity']}" in page
    assert f"```promql\n{alert['expr']}\n```" in page
    for heading in ("What it means", "How to look", "What to do"):
        assert f"\n## {heading}\n" in page


def test_every_runbook_is_of_an_alert():
    assert {path.name for path in RUNBOOKS.iterdir()} == {
        Path(alert["annotations"]["runbook"]).name for alert in alerts()
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", sorted(RUNBOOKS.glob("*.md")), ids=lambda page: page.stem)
def test_every_query_of_a_runbook_runs(page):
    for block in SQL.findall(page.read_text()):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(block.replace("<subscription>", "00000000-0000-0000-0000-000000000000"))
            transaction.set_rollback(True)


def test_the_runbook_of_jobs_names_every_job():
    page = (RUNBOOKS / "job-fails.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(jobs.intervals())
