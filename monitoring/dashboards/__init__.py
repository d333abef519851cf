"""Grafana's dashboards as code. `manage.py write_dashboards` makes the files that Grafana is provisioned with."""

import json
from pathlib import Path

from monitoring.dashboards.database import DATABASE
from monitoring.dashboards.fifo import FIFO
from monitoring.dashboards.ingest import INGEST
from monitoring.dashboards.overview import OVERVIEW
from monitoring.dashboards.panel import render
from monitoring.dashboards.subscription import SUBSCRIPTION
from monitoring.dashboards.workers import WORKERS

DASHBOARDS = (OVERVIEW, FIFO, SUBSCRIPTION, WORKERS, INGEST, DATABASE)
FOLDER = Path(__file__).parent.parent / "grafana" / "dashboards"


def files() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{each.uid}.json": json.dumps(render(each), indent=2) + "\n" for each in DASHBOARDS}
