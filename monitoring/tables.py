"""Gauges of the tables, as a snapshot has them. A scrape reads memory and asks nobody."""

import logging
import platform
from collections.abc import Iterator
from importlib.metadata import version

import django
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitoring.gauges import GAUGES
from monitoring.snapshot import Kept, keep_fresh, read

logger = logging.getLogger(__name__)

STALE_SECONDS = 120.0  # older than that is no longer how things are


class TableCollector(Collector):
    """Shows the last snapshot that `look` has seen."""

    def __init__(self) -> None:
        self._kept: Kept | None = None
        self._database_answers = False

    def look(self) -> None:
        """Take a snapshot if it is time, or read the one that another process has taken."""
        try:
            keep_fresh()
            self._kept = read()
            self._database_answers = True
        except (OperationalError, InterfaceError) as problem:
            connection.close()
            if self._database_answers:
                logger.warning("No gauges of the tables until the database answers: %s", problem)
            self._database_answers = False

    def collect(self) -> Iterator[Metric]:
        yield _build_info()
        yield GaugeMetricFamily(
            "hook0_database_up", "Whether the database answered at the last look.", value=self._database_answers
        )
        if (kept := self._kept) is None:
            return
        yield GaugeMetricFamily(
            "hook0_snapshot_timestamp_seconds",
            "When the tables were last looked at.",
            value=kept.taken_at.timestamp(),
        )
        yield GaugeMetricFamily("hook0_snapshot_duration_seconds", "How long that took.", value=kept.seconds)
        if self._database_answers and kept.age < STALE_SECONDS:
            yield from _families(kept)


def _families(kept: Kept) -> Iterator[Metric]:
    families: dict[str, Metric] = {}
    for sample in kept.samples:
        if sample.name in GAUGES:  # one of another release is none of ours
            family = families.setdefault(sample.name, Metric(sample.name, GAUGES[sample.name], "gauge"))
            family.add_sample(sample.name, sample.labels, sample.value)
    yield from families.values()


def _build_info() -> Metric:
    info = GaugeMetricFamily(
        "hook0_build_info", "What runs here, and where its admin is.", labels=["version", "python", "django", "admin"]
    )
    info.add_metric(
        [version("hook0-fifo"), platform.python_version(), django.__version__, f"{settings.PUBLIC_URL}/admin"], 1
    )
    return info
