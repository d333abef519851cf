import asyncio
import contextlib
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from hook0 import receiver


class Command(BaseCommand):
    help = "Receive webhooks and print a line for each; it can be told to fail, to be slow, to be down."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = receiver.__doc__
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--host", default="127.0.0.1")

    def handle(self, *, port: int, host: str, **_: Any) -> None:
        server = receiver.Receiver(on_received=self._print)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(server.serve(host, port))

    def _print(self, webhook: receiver.Received) -> None:
        get = webhook.headers.get
        place = f"lane {get('x-hook0-lane')} #{get('x-hook0-sequence')}" if get("x-hook0-lane") else "unordered"
        at = datetime.fromtimestamp(webhook.at).astimezone()
        self.stdout.write(
            f"{at:%H:%M:%S.%f}"[:12] + f"  {webhook.method} {webhook.path}  {get('x-event-type', '-')}  {place}"
            f"  try {get('x-hook0-attempt', '-')}  -> {webhook.answered or 'no answer'}"
        )
        self.stdout.flush()
