import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from delivery import worker


class Command(BaseCommand):
    help = "Run one pump without Celery, until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Return as soon as nothing is due.")

    def handle(self, *, once: bool, **_: Any) -> None:
        stop_signals: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _frame: stop_signals.append(received))
        recorded = worker.pump(stopping=lambda: bool(stop_signals), linger=0.0 if once else float("inf"))
        self.stdout.write(f"{recorded} tries recorded.")
