"""Debian's Prometheus for the tests, and the expressions that it is asked."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from ruamel.yaml import YAML

from monitoring.dashboards import DASHBOARDS
from monitoring.dashboards.panel import Dashboard, Panel

RULES = Path(settings.BASE_DIR) / "monitoring" / "prometheus"
METRIC = re.compile(r"\b((?:hook0|fifo)_\w+|hook0:[\w:]+)")
SELECTOR = re.compile(METRIC.pattern + r"(\{[^}]*\})?")
PART = re.compile("_(bucket|sum|count)$")


def tool(name: str) -> str:
    """The path of a program of the package. Without it a test is left out, but not where changes are judged."""
    path = shutil.which(name)
    if path is None:
        leave_out = pytest.fail if os.environ.get("CI") else pytest.skip
        leave_out(f"There is no {name}: apt install prometheus")
    return path


def queries() -> Iterator[tuple[Dashboard, Panel, str, str]]:
    """Every query of every panel, with its legend."""
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for legend, expression in panel.queries.items():
                yield dashboard, panel, legend, expression


def filled_in(expression: str, *, subscription: str = "", interval: str = "1m") -> str:
    """As Grafana sends it."""
    return expression.replace("$__rate_interval", interval).replace("$subscription", subscription)


def rules(file: str) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = YAML(typ="safe").load(RULES / file)["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return rules("alerts.yml")


def metrics_of(expression: str) -> set[str]:
    return set(METRIC.findall(expression))


def selectors_of(expression: str) -> set[str]:
    """The metrics, each with the labels that it is asked for by."""
    return {metric + labels for metric, labels in SELECTOR.findall(expression)}
