import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from delivery.worker import pump
from subscriptions.models import Worker
from tenants.garbage import look_rarely


class Command(BaseCommand):
    help = "Run one pump without Celery, until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Return as soon as nothing is due.")
        parser.add_argument("--worker", help="The name of a worker: serve what is dedicated to it.")

    def handle(self, *, once: bool, worker: str | None, **_: Any) -> None:
        if worker is not None and not Worker.objects.filter(name=worker).exists():
            names = ", ".join(Worker.objects.order_by("name").values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no worker {worker!r}; add it in the admin. There is: {names}.")
        stop_signals: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _frame: stop_signals.append(received))
        if not once:
            look_rarely()
        linger = 0.0 if once else float("inf")
        recorded = pump(stopping=lambda: bool(stop_signals), linger=linger, name=worker)
        self.stdout.write(f"{recorded} tries recorded.")
