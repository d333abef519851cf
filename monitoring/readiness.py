"""`/livez` and `/readyz`: whether this process answers, and whether the whole is there that it takes to deliver."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from monitoring.health import check_broker

MISSED_SECONDS = 60  # a job that is due every second, or a pump that gives signs every five, is gone after that
REMEMBERED_SECONDS = 1.0  # whoever asks more often is told the same


@dataclass(frozen=True)
class Finding:
    """What is wrong, in words that say what to do; empty where nothing is."""

    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason


def livez(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Whether everything is there, and what is not; `?exclude=beat,workers` leaves some out."""
    excluded = set(",".join(request.GET.getlist("exclude")).split(",")) - {""}
    if unknown := excluded - set(CHECKS):
        message = f"There is no check {', '.join(sorted(unknown))}. There is: {', '.join(CHECKS)}."
        return JsonResponse({"ready": False, "checks": {}, "problem": message}, status=400)
    findings = {name: finding for name, finding in find().items() if name not in excluded}
    ready = all(finding.ok for finding in findings.values())
    checks = {name: {"ok": finding.ok, "reason": finding.reason} for name, finding in findings.items()}
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)


_found: tuple[float, dict[str, Finding]] = (0.0, {})


def find() -> dict[str, Finding]:
    """The finding of each check, as of a moment ago."""
    global _found  # noqa: PLW0603 - one memory per process is the point
    at, findings = _found
    if not findings or time.monotonic() - at > REMEMBERED_SECONDS:
        findings = {name: Finding(check()) for name, check in CHECKS.items()}
        _found = (time.monotonic(), findings)
    return findings


def forget() -> None:
    """Look anew at the next question."""
    global _found  # noqa: PLW0603
    _found = (0.0, {})


def _asking_the_database(check: Callable[[], str]) -> Callable[[], str]:
    def ask() -> str:
        try:
            return check()
        except (OperationalError, InterfaceError):
            connection.close()
            return "The database does not answer: see whether PostgreSQL runs and whether DATABASE_URL names it."
        except DatabaseError as problem:
            return (
                f"PostgreSQL refuses what is asked of it ({type(problem.__cause__).__name__}): run manage.py migrate."
            )

    return ask


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    return f"{missing} migrations are not applied: run manage.py migrate." if missing else ""


def _broker() -> str:
    return (
        "" if check_broker().ok else "The broker does not answer: see whether it runs and CELERY_BROKER_URL names it."
    )


def _beat() -> str:
    if _is_recent("SELECT max(succeeded_at) FROM job_round"):
        return ""
    return f"No job on the clock has run for {MISSED_SECONDS} s: start beat and the maintenance worker."


def _workers() -> str:
    if _is_recent(
        "SELECT max(seen_at) FROM running_pump pump LEFT JOIN worker ON worker.name = pump.worker"
        " WHERE pump.worker IS NULL OR worker.is_public"
    ):
        return ""
    return f"No pump has given a sign of life for {MISSED_SECONDS} s: start a delivery worker."


def _is_recent(latest: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ({latest}) > now() - %s * interval '1 s'", [MISSED_SECONDS])
        (recent,) = cursor.fetchone() or (None,)
    return bool(recent)


CHECKS: dict[str, Callable[[], str]] = {
    "database": _asking_the_database(_database),
    "migrations": _asking_the_database(_migrations),
    "broker": _broker,
    "beat": _asking_the_database(_beat),
    "workers": _asking_the_database(_workers),
}
