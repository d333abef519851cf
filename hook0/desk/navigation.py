"""The sidebar: what operators look at first, and who may see it."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse

GROUPS: dict[str, list[tuple[str, str, str]]] = {
    "Deliveries": [
        ("Subscriptions", "subscriptions.subscription", "webhook"),
        ("Lanes", "delivery.lane", "linear_scale"),
        ("Events", "events.event", "bolt"),
        ("Request attempts", "delivery.attemptlog", "send"),
        ("Dead letters", "delivery.deadletter", "inbox_customize"),
        ("Undelivered", "events.undelivered", "inventory_2"),
        ("Job queues", "delivery.jobqueue", "splitscreen"),
        ("Replays", "events.replay", "replay"),
        ("Bulk loads", "events.bulkload", "upload"),
        ("What was done", "delivery.operatoraction", "history"),
    ],
    "Tenants": [
        ("Organizations", "tenants.organization", "corporate_fare"),
        ("Applications", "tenants.application", "deployed_code"),
        ("Event types", "tenants.eventtype", "category"),
        ("Application secrets", "tenants.applicationsecret", "key"),
        ("Service tokens", "tenants.servicetoken", "vpn_key"),
    ],
    "Installation": [
        ("Workers", "subscriptions.worker", "memory"),
        ("Workers of organizations", "subscriptions.organizationworker", "lan"),
        ("Running pumps", "delivery.runningpump", "mode_heat"),
        ("Jobs on the clock", "monitoring.jobround", "schedule"),
        ("Users", "auth.user", "person"),
        ("Groups", "auth.group", "group"),
    ],
}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Only what the reader may look at."""
    home = {"title": "Home", "icon": "monitoring", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    for title, items in GROUPS.items():
        allowed = [
            {"title": name, "icon": icon, "link": reverse(f"admin:{model.replace('.', '_')}_changelist")}
            for name, model, icon in items
            if _may_see(request, model)
        ]
        if allowed:
            groups.append({"title": title, "separator": True, "items": allowed})
    return groups


def _may_see(request: HttpRequest, model: str) -> bool:
    app, _, name = model.partition(".")
    return isinstance(request.user, User) and request.user.has_perm(f"{app}.view_{name}")
