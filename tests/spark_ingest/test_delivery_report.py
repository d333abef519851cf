"""The delivery report beside the same numbers from SQL."""

import random
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery.models import AttemptLog
from spark_ingest.delivery_report import main

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
BY_SQL = """
SELECT (ended_at AT TIME ZONE 'UTC')::date, application_id::text, subscription_id::text, count(*),
       count(*) FILTER (WHERE error_name IS NULL), count(*) FILTER (WHERE error_name IS NOT NULL),
       count(*) - count(*) FILTER (WHERE try_number = 1),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY elapsed_ms),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY elapsed_ms),
       percentile_cont(0.99) WITHIN GROUP (ORDER BY elapsed_ms)
  FROM attempt_log WHERE ended_at >= %s AND ended_at < %s AND (%s::uuid IS NULL OR application_id = %s) GROUP BY 1, 2, 3
"""


@pytest.fixture
def history(url):
    """Some hundred tries of three days, of all kinds."""
    dice = random.Random(1)
    AttemptLog.objects.bulk_create(
        AttemptLog(
            id=uuid.uuid4(), delivery_id=uuid.uuid4(), event_id=1, subscription_id=dice.choice([ONE, OTHER]),
            application_id=dice.choice([ONE, OTHER]), try_number=dice.choice([1, 1, 1, 2, 3]), succeeded=failed is None,
            accepted=dice.random() < 0.9, error_name=failed, created_at=TODAY, due_at=TODAY,
            elapsed_ms=None if failed == "E_WORKER_LOST" else int(dice.lognormvariate(5, 1)),
            ended_at=TODAY + timedelta(hours=dice.choice([-60, -36, -24, -0.001, 0, 12])),
        )
        for failed in dice.choices([None, "E_HTTP", "E_WORKER_LOST"], [8, 2, 1], k=600)
    )  # fmt: skip


def expected(since, until, application=None):
    with connection.cursor() as cursor:
        cursor.execute(BY_SQL, [since, until, application, application])
        return {row[:3]: row[3:] for row in cursor.fetchall()}


def written(spark, folder):
    return {tuple(row)[:3]: tuple(row)[3:] for row in spark.read.parquet(str(folder)).collect()}


@pytest.mark.parametrize("application", [None, OTHER])
def test_it_has_the_numbers_of_the_days_that_are_asked_for(spark, url, history, tmp_path, capsys, application):
    yesterday = TODAY - timedelta(days=1)
    argv = ["--database-url", url, "--output", str(tmp_path / "report"), "--since", f"{yesterday:%F}"]
    argv += ["--until", f"{TODAY:%F}", *(["--application-id", str(application)] if application else [])]
    assert main(argv) == 0
    known = expected(yesterday, TODAY + timedelta(days=1), application)
    found = written(spark, tmp_path / "report")
    assert len(known) == (4 if application else 8)
    assert found.keys() == known.keys()
    for key, numbers in known.items():
        assert found[key] == pytest.approx(numbers), key
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["day", "application", "subscription", "sent", "succeeded", "failed", "retried",
                               "p50_ms", "p95_ms", "p99_ms"]  # fmt: skip
    day, of_application, of_subscription, *numbers = said[1].split()
    told = found[datetime.fromisoformat(day).date(), of_application, of_subscription]
    assert numbers == [f"{number:,.0f}" for number in told]
    assert said[-1] == f"Written to {tmp_path / 'report'}"
    assert len(said) == len(known) + 2


def test_a_day_without_tries_is_an_empty_report(spark, url, tmp_path, capsys):
    argv = [
        "--database-url",
        url,
        "--output",
        str(tmp_path / "report"),
        "--since",
        "2001-01-01",
        "--until",
        "2001-01-01",
    ]
    assert main(argv) == 0
    assert written(spark, tmp_path / "report") == {}


def test_a_report_that_is_there_is_only_replaced_if_one_says_so(spark, url, history, tmp_path, capsys):
    argv = ["--database-url", url, "--output", str(tmp_path / "report"), "--since", f"{TODAY:%F}"]
    assert main(argv) == 0
    assert main(argv) == 1
    assert "Give --overwrite to replace it" in capsys.readouterr().err
    assert main([*argv, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "yesterday"], "'yesterday' is not a day, as 2026-01-31 is"),
        (["--since", "2026-01-02", "--until", "2026-01-01"], "--until is before --since"),
        (["--since", "2026-01-02"], "Which database?"),
        (["--database-url", "x"], "--since"),
    ],
)
def test_arguments_that_cannot_be_are_refused(monkeypatch, capsys, options, message):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["--output", "x", *options])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
