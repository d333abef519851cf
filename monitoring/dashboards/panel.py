"""A panel as a value, and a dashboard of them as the JSON that Grafana reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LIVE = '{origin="live", target="http"}'  # webhooks of events as they come
WIDTH = 24
HEIGHTS = {"timeseries": 8, "stat": 5, "table": 8}


@dataclass(frozen=True)
class Panel:
    """One question. `queries` are by their legends; `admin` is the page of what is shown, below the admin's address."""

    title: str
    about: str
    unit: str
    queries: Mapping[str, str]
    admin: str
    kind: Literal["timeseries", "stat", "table"] = "timeseries"
    width: int = 8
    warn: float | None = None  # from here on it is somebody's business
    stacked: bool = False


@dataclass(frozen=True)
class Dashboard:
    uid: str
    title: str
    about: str
    panels: Sequence[Panel]
    variables: Mapping[str, str] = field(default_factory=dict)  # name: what Prometheus is asked for its values


def render(dashboard: Dashboard) -> dict[str, Any]:
    """The document that Grafana is provisioned with."""
    panels, x, y, row = [], 0, 0, 0
    for number, panel in enumerate(dashboard.panels, 1):
        if x + panel.width > WIDTH:
            x, y, row = 0, y + row, 0
        height = HEIGHTS[panel.kind]
        panels.append(_panel(panel, number, {"x": x, "y": y, "w": panel.width, "h": height}))
        x, row = x + panel.width, max(row, height)
    return {
        "uid": dashboard.uid,
        "title": f"hook0: {dashboard.title}",
        "description": dashboard.about,
        "tags": ["hook0"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "links": [{"type": "dashboards", "title": "hook0", "tags": ["hook0"], "asDropdown": True, "keepTime": True}],
        "templating": {"list": _variables(dashboard)},
        "panels": panels,
    }


def _panel(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.warn is not None:
        steps.append({"color": "red", "value": panel.warn})
    custom: dict[str, Any] = {"fillOpacity": 10, "showPoints": "never"}
    if panel.stacked:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    if panel.warn is not None:
        custom["thresholdsStyle"] = {"mode": "line"}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": position,
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "thresholds": {"mode": "absolute", "steps": steps},
                **({"custom": custom} if panel.kind == "timeseries" else {}),
            },
            "overrides": [],
        },
        "options": _options(panel),
        "links": [{"title": "In the admin", "url": f"${{admin}}{panel.admin}", "targetBlank": True}],
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": expression,
                "legendFormat": legend,
                **({"instant": True, "range": False, "format": "table"} if panel.kind == "table" else {}),
            }
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if panel.kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}, "colorMode": "background"}
    return {"showHeader": True, "sortBy": [{"displayName": "Value", "desc": True}]}


def _variables(dashboard: Dashboard) -> list[dict[str, Any]]:
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    # The installation says where its admin is.
    admin = _query("admin", "label_values(hook0_build_info, admin)") | {"hide": 2}
    return [source, admin, *(_query(name, query) for name, query in dashboard.variables.items())]


def _query(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
    }


def quantiles(metric: str, *shares: float, by: str = "", where: str = "") -> dict[str, str]:
    """Quantiles of a histogram, or of a part of it, by their legends."""
    group, suffix = (f"le, {by}", f" {{{{{by}}}}}") if by else ("le", "")
    rate = f"sum by ({group}) (rate({metric}_bucket{where}[$__rate_interval]))"
    return {f"p{share * 100:g}{suffix}": f"histogram_quantile({share}, {rate})" for share in shares}
