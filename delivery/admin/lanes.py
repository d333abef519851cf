from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from delivery.admin.lane_verbs import PAUSE, RESUME, RETRY, VERBS
from delivery.attempts import Sought, find_attempts
from delivery.heads import find_heads, lanes_of_key
from delivery.models import Lane, OperatorAction, Phase, RequestAttempt
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import Tone, badge, link, moment
from tenants.staff import read_uuid

TONES: dict[int, Tone] = {
    Phase.EMPTY: "good", Phase.WAITING: "busy", Phase.RUNNING: "busy", Phase.BLOCKED: "bad", Phase.PAUSED: "off",
}  # fmt: skip
SHOWN = 20


class StandingFilter(admin.SimpleListFilter):
    title, parameter_name = "standing", "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("stuck", "Stuck: failing or blocked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Lane]) -> QuerySet[Lane]:
        return queryset.filter(since__isnull=False) if self.value() == "stuck" else queryset


class SubscriptionFilter(admin.SimpleListFilter):
    """Set by who links here: there are too many to choose from."""

    title, parameter_name = "subscription", "subscription"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        asked = request.GET.get(self.parameter_name)
        return [(asked, asked)] if asked and read_uuid(asked) else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Lane]) -> QuerySet[Lane]:
        asked = read_uuid(self.value())
        return queryset.filter(subscription=asked) if asked else queryset


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    organization = "subscription__application__organization"
    list_display = ("state", "of", "head_event", "last_error", "tries", "waiting", "failing_since", "next_try")
    list_display_links = ("state",)
    list_select_related = ("subscription",)
    list_filter = (StandingFilter, "phase", SubscriptionFilter)
    search_fields = ("key",)
    search_help_text = "A key, in full"
    fields = (
        "state", "of", "waiting", "numbers", "tries", "failing_since", "next_try",
    )  # fmt: skip
    nothing = "There are no lanes. They appear with the first event for a FIFO subscription."
    verbs = VERBS
    sections = ("delivery/lane.html",)
    actions = ("retry_selected", "pause_selected", "resume_selected")

    def order(self, request: HttpRequest) -> Sequence[str]:
        is_stuck = request.GET.get("standing") == "stuck" or request.GET.get("phase__exact") == str(Phase.BLOCKED)
        if is_stuck:
            return ("since", "id")
        return (
            ("key", "id") if SubscriptionFilter.parameter_name in request.GET else ("-id",)
        )  # as lane_once_per_key has them

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Lane], search_term: str
    ) -> tuple[QuerySet[Lane], bool]:
        return (queryset & lanes_of_key(search_term) if search_term else queryset), False

    def enrich(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        heads = find_heads(rows)
        for lane in rows:
            lane.head = heads.get(lane.pk)

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        head = find_heads([row]).get(row.pk)
        application_id = row.subscription.application_id
        sought = head and Sought(application_id, event_id=head.event_id, subscription_id=row.subscription_id)
        waiting = RequestAttempt.objects.filter(lane=row, lane_seq__gte=row.head_seq).select_related("event")
        actions = OperatorAction.objects.filter(subscription_id=row.subscription_id, lane_id=row.pk)
        return {
            "application_id": application_id,
            "head": head,
            "attempts": find_attempts(sought, most=SHOWN) if sought else [],
            "deliveries": waiting.defer("event__payload").order_by("lane_seq")[:SHOWN],
            "operator_actions": actions.order_by("-at", "-id")[:SHOWN],
        }

    @admin.display(description="state")
    def state(self, lane: Lane) -> str:
        paused = ", to be paused" if lane.is_paused and lane.phase != Phase.PAUSED else ""
        return badge(f"{Phase(lane.phase).label.lower()}{paused}", TONES[lane.phase])

    @admin.display(description="lane of")
    def of(self, lane: Lane) -> str:
        address = reverse("admin:subscriptions_subscription_change", args=[lane.subscription_id])
        return link(address, f"{lane.subscription} · {lane.key or 'everything'}")

    @admin.display(description="head")
    def head_event(self, lane: Any) -> str:
        if lane.head is None:
            return "–"
        address = reverse("admin:events_event_change", args=[lane.head.event_id])
        return link(f"{address}?application={lane.subscription.application_id}", lane.head.event_type)

    @admin.display(description="last error")
    def last_error(self, lane: Any) -> str:
        if lane.head is None or lane.head.last_error is None:
            return "–"
        return f"{lane.head.last_error} {lane.head.last_http_status or ''}"

    @admin.display(description="waiting")
    def waiting(self, lane: Lane) -> int:
        return lane.depth

    @admin.display(description="numbers")
    def numbers(self, lane: Lane) -> str:
        return f"{lane.head_seq} is next, {lane.tail_seq} was given out last"

    @admin.display(description="failing since")
    def failing_since(self, lane: Lane) -> str:
        return moment(lane.since)

    @admin.display(description="next try")
    def next_try(self, lane: Lane) -> str:
        return moment(lane.ready_at)

    @admin.action(description="Retry the heads", permissions=["act"])
    def retry_selected(self, request: HttpRequest, rows: QuerySet[Lane]) -> None:
        self.act_on_selected(request, rows, RETRY)

    @admin.action(description="Pause", permissions=["act"])
    def pause_selected(self, request: HttpRequest, rows: QuerySet[Lane]) -> None:
        self.act_on_selected(request, rows, PAUSE)

    @admin.action(description="Resume", permissions=["act"])
    def resume_selected(self, request: HttpRequest, rows: QuerySet[Lane]) -> None:
        self.act_on_selected(request, rows, RESUME)
