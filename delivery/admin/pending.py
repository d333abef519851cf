from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from delivery.attempt_ids import tries_of
from delivery.attempts import PENDING
from delivery.audit import Operator
from delivery.dead_letters import cancel
from delivery.models import AttemptProgress, RequestAttempt
from delivery.retry_now import retry_now
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import link, moment, short
from tenants.verbs import GoodReason, Verb, telling


def _cancel(pending: RequestAttempt, fields: dict[str, Any], by: Operator) -> str:
    cancel(RequestAttempt.objects.filter(pk=pending.pk), by=by)
    return "It is called off."


@admin.register(RequestAttempt)
class RequestAttemptAdmin(ReadOnlyAdmin):
    """A delivery that waits. The list of them is that of the attempts."""

    organization = "subscription__application__organization"
    fields = (
        "delivery",
        "event_link",
        "subscription_link",
        "lane",
        "lane_seq",
        "priority",
        "due",
        "tries",
        "is_cancelled",
        "progress",
    )
    verbs = (
        Verb(
            "retry",
            "Try now",
            telling(retry_now, "It is tried now."),
            lambda _: "It is due at once. In a lane, that is said of its head alone.",
            offered=lambda pending: not pending.is_cancelled,
            icon="replay",
        ),
        Verb(
            "cancel",
            "Cancel",
            _cancel,
            lambda _: "It is not sent any more. In a lane it leaves when its turn comes.",
            form=GoodReason,
            offered=lambda pending: not pending.is_cancelled,
            icon="cancel",
            is_dangerous=True,
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("subscription", "event").defer("event__payload")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        address = reverse("admin:delivery_attemptlog_changelist")
        return HttpResponseRedirect(f"{address}?status={','.join(sorted(PENDING))}")

    @admin.display(description="delivery")
    def delivery(self, pending: RequestAttempt) -> str:
        return short(pending.pk)

    @admin.display(description="event")
    def event_link(self, pending: RequestAttempt) -> str:
        return link(reverse("admin:events_event_change", args=[pending.event_id]), pending.event)

    @admin.display(description="subscription")
    def subscription_link(self, pending: RequestAttempt) -> str:
        address = reverse("admin:subscriptions_subscription_change", args=[pending.subscription_id])
        return link(address, pending.subscription)

    @admin.display(description="progress of the last try")
    def progress(self, pending: RequestAttempt) -> str:
        first, end = tries_of(pending.pk)
        reported = AttemptProgress.objects.filter(id__gte=first, id__lt=end).order_by("-id").first()
        return format_html("{}, {}", reported, moment(reported.reported_at)) if reported else ""

    @admin.display(description="due")
    def due(self, pending: RequestAttempt) -> str:
        return moment(pending.due_at)
