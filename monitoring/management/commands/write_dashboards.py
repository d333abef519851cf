from typing import Any

from django.core.management.base import BaseCommand

from monitoring.dashboards import FOLDER, files


class Command(BaseCommand):
    help = "Write Grafana's dashboards from monitoring/dashboards."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        for name, text in files().items():
            (FOLDER / name).write_text(text)
            self.stdout.write(f"{FOLDER / name}")
