"""A dashboard as a picture: its panels where Grafana has them, with what Prometheus answers."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monitoring.dashboards.panel import WIDTH, Dashboard, Panel, render
from tests.flow.prometheus import Prometheus
from tests.monitoring.watching import filled_in

STEPS = 120
TITLE_INCHES, INCHES = 0.5, 0.36  # of the title, and of a line of Grafana's grid
MOST = 8  # lines with a name
UNITS = {"short": "", "s": "s", "cps": "per s", "reqps": "per s", "percentunit": "share", "bytes": "bytes"}
NAME = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Run:
    """What is drawn: so many seconds of a Prometheus, up to now."""

    prometheus: Prometheus
    seconds: float
    subscription: str

    def series(self, panel: Panel) -> list[tuple[str, list[float], list[float]]]:
        """The name, the times and the values of each line."""
        now = time.time()
        found = []
        for legend, expression in panel.queries.items():
            data = self.prometheus.ask(
                "query_range",
                query=filled_in(expression, subscription=self.subscription, interval="30s"),
                start=now - self.seconds,
                end=now,
                step=self.seconds / STEPS,
            )
            for each in data["result"]:
                times = [(float(at) - now) / 60 for at, _ in each["values"]]
                found.append((_name(legend, each["metric"]), times, [float(value) for _, value in each["values"]]))
        return found


def draw(dashboard: Dashboard, run: Run, file: Path) -> None:
    """Write the picture of a dashboard."""
    places = [panel["gridPos"] for panel in render(dashboard)["panels"]]
    inches = INCHES * max(place["y"] + place["h"] for place in places) + TITLE_INCHES
    figure = Figure(figsize=(15, inches))
    figure.suptitle(f"hook0: {dashboard.title}", fontweight="bold", y=1 - 0.3 * TITLE_INCHES / inches, va="center")
    for panel, place in zip(dashboard.panels, places, strict=True):
        left, width = place["x"] / WIDTH, place["w"] / WIDTH
        bottom, height = inches - TITLE_INCHES - INCHES * (place["y"] + place["h"]), INCHES * place["h"]
        room = (left + 0.045, (bottom + 0.5) / inches, width - 0.06, (height - 0.85) / inches)
        axes = figure.add_axes(room)
        axes.set_title(panel.title, fontsize=10)
        series = run.series(panel)
        if panel.kind == "timeseries":
            _lines(axes, panel, series)
        else:
            _numbers(axes, panel, series)
    figure.savefig(file, dpi=70)


def _lines(axes: Axes, panel: Panel, series: list[tuple[str, list[float], list[float]]]) -> None:
    for number, (name, times, values) in enumerate(series):
        axes.plot(times, values, label=name if number < MOST else None, linewidth=1.3)
    highest = max((value for _, _, values in series for value in values if value == value), default=0.0)  # noqa: PLR0124
    if panel.warn is not None and highest > panel.warn / 3:
        axes.axhline(panel.warn, color="red", linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom=0, top=None if highest else 1)
    axes.set_ylabel(UNITS[panel.unit], fontsize=8)
    axes.set_xlabel("minutes", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left")


def _numbers(axes: Axes, panel: Panel, series: list[tuple[str, list[float], list[float]]]) -> None:
    """The last values, as the panel says them now."""
    axes.axis("off")
    now = max((times[-1] for _, times, _ in series), default=0.0)
    shown = sorted(((values[-1], name) for name, times, values in series if times[-1] == now), reverse=True)[:MOST]
    for number, (value, name) in enumerate(shown):
        bad = panel.warn is not None and value >= panel.warn
        text = f"{value:,.3g} {UNITS[panel.unit]}  {name}"
        size = 20 if len(shown) <= 2 else 11 if len(shown) <= 4 else 8
        height = 0.75 - 0.8 * number / max(len(shown), 3)
        axes.text(0.5, height, text, ha="center", fontsize=size, color="red" if bad else "green")


def _name(legend: str, labels: dict[str, Any]) -> str:
    return NAME.sub(lambda found: str(labels.get(found[1], "none")), legend)
