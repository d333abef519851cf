"""Gauges that are read off the tables: the tables are the metrics."""

from collections.abc import Iterator

from django.db import connection
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from delivery.models import Phase

_LANES = "SELECT phase, count(*), coalesce(sum(tail_seq - head_seq + 1), 0) FROM fifo_subscription_state GROUP BY phase"
_LOOSE = """
SELECT count(*) FILTER (WHERE lease_until IS NULL), count(*) FILTER (WHERE lease_until IS NOT NULL)
  FROM request_attempt WHERE lane_id IS NULL
"""
_DEAD = "SELECT count(*) FROM dead_letter"


class TableCollector(Collector):
    """Asked at every scrape; the statements read small tables."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_LANES)
            phases = {Phase(phase): (lanes, waiting) for phase, lanes, waiting in cursor.fetchall()}
            cursor.execute(_LOOSE)
            pending, running = cursor.fetchone() or (0, 0)
            cursor.execute(_DEAD)
            (dead,) = cursor.fetchone() or (0,)
        lanes = GaugeMetricFamily("hook0_lanes", "Lanes of FIFO subscriptions, by phase.", labels=["phase"])
        depth = GaugeMetricFamily(
            "hook0_lane_deliveries", "Deliveries that wait in lanes, by the lane's phase.", labels=["phase"]
        )
        for phase in Phase:
            lanes.add_metric([phase.name.lower()], phases.get(phase, (0, 0))[0])
            depth.add_metric([phase.name.lower()], phases.get(phase, (0, 0))[1])
        yield lanes
        yield depth
        yield GaugeMetricFamily("hook0_unordered_pending", "Deliveries without order that wait.", value=pending)
        yield GaugeMetricFamily("hook0_unordered_in_flight", "Deliveries without order under lease.", value=running)
        yield GaugeMetricFamily("hook0_dead_letters", "Deliveries that were given up.", value=dead)
