import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from hook0.console import Console
from hook0.product import Site
from hook0.programs import StartError
from hook0.up import run


class Command(BaseCommand):
    help = "Run the whole product in the foreground, with its own PostgreSQL and broker unless you name yours."
    # It starts the database: nothing that asks one may run before.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-receiver", action="store_true", help="leave out the demo receiver")

    def handle(self, *, no_receiver: bool, **_: Any) -> None:
        site = Site(
            home=settings.HOME,
            code=settings.BASE_DIR,
            bind=settings.BIND,
            port=settings.PORT,
            metrics_port=settings.METRICS_PORT,
            stream_port=settings.STREAM_PORT,
            metrics_folder=Path(settings.METRICS_DIR or settings.HOME / "metrics"),
            public_url=settings.PUBLIC_URL,
            stream_url=settings.STREAM_URL,
            pumps=settings.DELIVERY_PROCESSES,
            postgres_bin=settings.POSTGRES_BIN,
            production=settings.PRODUCTION,
            receiver=not no_receiver,
        )
        try:
            run(site, Console(sys.stdout))
        except KeyboardInterrupt:
            return
        except StartError as problem:
            sys.exit(f"\n{problem}")
