import json
import time
import uuid
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.core.serializers.json import DjangoJSONEncoder

from monitoring.held import HeldLane, held_lanes

HEADINGS = ("held for", "why", "retry", "waiting", "subscription", "lane", "key", "head (delivery)", "next try")
WATCH_SECONDS = 2.0
CLEAR = "\x1b[2J\x1b[H"


class Command(BaseCommand):
    help = "Which lanes of FIFO subscriptions hold back what comes behind, longest first, and why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="An array of objects, for machines.")
        parser.add_argument(
            "--watch",
            type=float,
            nargs="?",
            const=WATCH_SECONDS,
            metavar="SECONDS",
            help="Look again every so often (2), until Ctrl-C.",
        )
        parser.add_argument("--for", type=float, default=0.0, dest="seconds", help="Held for at least so many seconds.")
        parser.add_argument("--subscription", type=uuid.UUID, help="The lanes of this one alone.")
        parser.add_argument("--most", type=int, default=50, help="Show so many at most (50).")

    def handle(
        self, *, watch: float | None, seconds: float, subscription: uuid.UUID | None, most: int, **options: Any
    ) -> None:
        as_json = options["json"]
        try:
            while True:
                held = held_lanes(seconds=seconds, most=most, subscription=subscription)
                if as_json:
                    indent = None if watch else 2
                    shown = json.dumps([asdict(lane) for lane in held], cls=DjangoJSONEncoder, indent=indent)
                else:
                    shown = (CLEAR if watch else "") + table(held)
                self.stdout.write(shown)
                if not watch:
                    return
                time.sleep(watch)
        except KeyboardInterrupt:
            return


def table(held: list[HeldLane]) -> str:
    """For the eye."""
    if not held:
        return "No lane is held."
    rows = [HEADINGS, *(_row(lane) for lane in held)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(lane: HeldLane) -> tuple[str, ...]:
    return (
        duration(lane.seconds),
        lane.why,
        f"{lane.retry_count}/{lane.max_retries}",
        str(lane.depth),
        str(lane.subscription_id),
        str(lane.lane_id),
        lane.key or "everything",
        str(lane.delivery_id or "-"),
        lane.ready_at.strftime("%H:%M:%S") if lane.ready_at else "-",
    )


def duration(seconds: float) -> str:
    """The two largest units: `2d 5h`, `7m 12s`."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        amount, left = divmod(left, size)
        if amount or (unit == "s" and not parts):
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2])
