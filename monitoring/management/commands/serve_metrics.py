import signal
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from prometheus_client import CollectorRegistry, start_http_server

from monitoring.graves import MachineCounters
from monitoring.tables import TableCollector

LOOK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Serve /metrics for Prometheus: the counters of all processes of this machine, and gauges of the tables."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.METRICS_PORT)
        parser.add_argument("--host", default=settings.BIND)
        parser.add_argument("--counters", action="store_true", help="The counters alone: another one has the tables.")

    def handle(self, *, port: int, host: str, counters: bool, **_: Any) -> None:
        registry = CollectorRegistry()
        tables = TableCollector()
        if settings.METRICS_DIR:
            registry.register(MachineCounters(Path(settings.METRICS_DIR)))
        elif counters:
            raise CommandError("There are no counters: set PROMETHEUS_MULTIPROC_DIR to the folder they are kept in.")
        if not counters:
            registry.register(tables)
        start_http_server(port, addr=host, registry=registry)
        self.stdout.write(f"Metrics at http://{host}:{port}/metrics")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        while True:
            if not counters:
                tables.look()
            time.sleep(LOOK_SECONDS)


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(0)
