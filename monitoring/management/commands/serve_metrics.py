import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

from monitoring.tables import TableCollector


class Command(BaseCommand):
    help = "Serve /metrics for Prometheus: the counters of all processes of this machine, and gauges of the tables."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.METRICS_PORT)
        parser.add_argument("--host", default=settings.BIND)

    def handle(self, *, port: int, host: str, **_: Any) -> None:
        registry = CollectorRegistry()
        registry.register(TableCollector())
        if settings.METRICS_DIR:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        start_http_server(port, addr=host, registry=registry)
        self.stdout.write(f"Metrics at http://{host}:{port}/metrics")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        signal.pause()


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(0)
