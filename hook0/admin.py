from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from delivery.attempts import Sought, find_attempts
from delivery.models import Lane, OperatorAction, Phase
from hook0.desk import application_verbs
from hook0.desk.charts import bars
from hook0.desk.health import HEALTHS, health_of, of_health, with_health
from hook0.desk.home import sparklines
from hook0.desk.subscription_form import SubscriptionForm
from hook0.desk.subscription_verbs import VERBS
from subscriptions.models import Subscription
from tenants.admin import ApplicationAdmin
from tenants.cells import badge
from tenants.checked_forms import CheckedAdmin
from tenants.models import Application
from tenants.staff import applications_of, read_uuid

SHOWN, LOOKED_AT = 10, 1_000
MOST_APPLICATIONS = 100  # to choose from
ABOUT_FIFO = (
    "FIFO sends one webhook at a time in each lane, and the next only when the one before has succeeded or was given "
    "up. It costs throughput: a slow endpoint slows its lane, and a failing event holds back what comes behind it. "
    "Switched off, what waits in order is sent without order; switched on, it is numbered in the order of its events."
)


class HealthFilter(admin.SimpleListFilter):
    title, parameter_name = "health", "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in HEALTHS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return of_health(queryset, self.value() or "") if self.value() else queryset


class ApplicationFilter(admin.SimpleListFilter):
    title, parameter_name = "application", "application__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(each.pk), str(each)) for each in applications_of(request.user)[:MOST_APPLICATIONS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(application=read_uuid(self.value())) if self.value() else queryset


@admin.register(Application)
class FullApplicationAdmin(ApplicationAdmin):
    verbs = (*ApplicationAdmin.verbs, *application_verbs.VERBS)


@admin.register(Subscription)
class SubscriptionAdmin(CheckedAdmin):
    form = SubscriptionForm
    organization = "application__organization"
    by: Sequence[str] = ("-created_at", "-id")
    list_display = ("name", "health", "day", "application", "is_fifo", "url", "created")
    list_display_links = ("name",)
    list_filter = (HealthFilter, ApplicationFilter, "fifo_mode")
    search_fields = ("description", "url", "id")
    search_help_text = "A part of a description or URL"
    nothing = "No subscription yet. It says which events go where; add the application and its event types first."
    sections_above = ("hook0/subscription.html",)
    verbs = VERBS
    fieldsets = (
        (None, {"fields": ("application", "description", "is_enabled", "is_paused")}),
        ("What it wants", {"fields": ("event_types", "labels")}),
        ("Where it goes", {"fields": ("target_type", "method", "url", "headers", "timeout_ms", "lease_seconds")}),
        (
            "Order",
            {
                "fields": ("fifo_mode", "fifo_key", "fifo_on_exhausted", "gives_up_order"),
                "description": ABOUT_FIFO,
            },
        ),
        (
            "Limits",
            {"fields": ("retry_policy", "max_in_flight", "rate_limit", "disable_after_hours", "dedicated_workers")},
        ),
        ("Notes", {"fields": ("metadata",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_health(super().get_queryset(request).filter(deleted_at=None))

    def enrich(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        days = sparklines([row.pk for row in rows])
        for row in rows:
            row.last_day = days[row.pk]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("application",) if obj else ()

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        theirs = self.admin_site.get_model_admin(db_field.remote_field.model)
        kwargs.setdefault("queryset", theirs.get_queryset(request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        for warning in form.warnings:
            messages.warning(request, warning)

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        actions = OperatorAction.objects.filter(subscription_id=row.pk).order_by("-at", "-id")
        return {
            "application_id": row.application_id,
            "health": health_of(row),
            "chart": bars(sparklines([row.pk])[row.pk], label="Tries of the last 24 hours"),
            "attempts": find_attempts(Sought(row.application_id, subscription_id=row.pk), most=SHOWN),
            "lanes": _lanes_of(row),
            "operator_actions": actions[:SHOWN],
        }

    @admin.display(description="subscription")
    def name(self, row: Subscription) -> str:
        return str(row)

    @admin.display(description="health")
    def health(self, row: Subscription) -> str:
        health = health_of(row)
        return badge(health.name, health.tone, health.why)

    @admin.display(description="24 hours")
    def day(self, row: Any) -> str:
        return bars(row.last_day, height=40, label="Tries of the last 24 hours")

    @admin.display(description="order")
    def is_fifo(self, row: Subscription) -> str:
        return "FIFO" if row.fifo_mode else "–"


def _lanes_of(subscription: Subscription) -> list[Lane]:
    """Some in which deliveries wait, stuck ones first. Where there are very many lanes, not all are looked at."""
    lanes = Lane.objects.filter(subscription=subscription)
    stuck = list(lanes.filter(since__isnull=False).order_by("since", "id")[:SHOWN])
    near = lanes.filter(pk__in=lanes.order_by("key").values("pk")[:LOOKED_AT])
    return stuck + list(near.filter(since=None).exclude(phase=Phase.EMPTY).order_by("key")[: SHOWN - len(stuck)])
