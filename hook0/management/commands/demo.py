from typing import Any

import requests
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from hook0 import demo
from hook0.installation import read_credentials


class Command(BaseCommand):
    help = "Show in a minute what order is worth: the same events to a FIFO subscription and an ordinary one."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        credentials = read_credentials(settings.HOME)
        if not credentials.application_secret or not credentials.receiver_url:
            raise CommandError(f"No running installation in {settings.HOME}: start one with `make run`.")
        try:
            in_order = demo.run(credentials, self.stdout.write)
        except requests.ConnectionError as problem:
            raise CommandError(f"Nothing answers ({problem}): is `make run` still running?") from None
        except RuntimeError as problem:
            raise CommandError(str(problem)) from None
        if not in_order:
            raise CommandError("The FIFO subscription did not get everything in order. That is a bug: tell us.")
        self.stdout.write(
            "FIFO waited for each step and kept the story straight; the ordinary one is faster and does not promise it."
        )
