from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from delivery import dead_letters
from delivery.audit import Operator
from delivery.models import DeadLetter
from tenants.admin_pages import OfApplicationAdmin, ReadOnlyAdmin
from tenants.cells import badge, link, moment, short
from tenants.verbs import GoodReason, Verb


def _requeue(letter: DeadLetter, fields: dict[str, Any], by: Operator) -> str:
    dead_letters.requeue(letter.pk, by=by)
    return "It is sent again."


def _delete(letter: DeadLetter, fields: dict[str, Any], by: Operator) -> str:
    dead_letters.delete(letter.pk, by=by)
    return "It is gone."


VERBS = (
    Verb(
        "requeue",
        "Send again",
        _requeue,
        lambda _: "It goes to the tail of its lane, or before what is ordinary, and is a dead letter no more.",
        icon="replay",
    ),
    Verb(
        "delete",
        "Let go",
        _delete,
        lambda _: "It is deleted for good. The event itself stays.",
        form=GoodReason,
        icon="delete_forever",
        is_dangerous=True,
    ),
)


@admin.register(DeadLetter)
class DeadLetterAdmin(OfApplicationAdmin, ReadOnlyAdmin):
    organization, application = "subscription__application__organization", "subscription__application"
    by = ("-died_at", "-id")
    list_display = ("died", "why", "event_link", "subscription_link", "tries", "last_try")
    list_filter = ("reason",)
    fields = ("died", "why", "event_link", "subscription_link", "lane_seq", "tries", "last_try", "delivery")
    nothing = "Nothing was given up. What has used up its retries, or is skipped, is kept here to be sent again."
    verbs = VERBS
    actions = ("requeue_selected",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Their events are looked for when the page is known: there may be many letters, and a join comes before."""
        events = DeadLetter._meta.get_field("event").related_model._default_manager.defer("payload")
        letters = super().get_queryset(request).select_related("subscription")
        return letters.prefetch_related(Prefetch("event", events))

    @admin.display(description="given up")
    def died(self, letter: DeadLetter) -> str:
        return moment(letter.died_at)

    @admin.display(description="why")
    def why(self, letter: DeadLetter) -> str:
        return badge(letter.reason, "off" if letter.reason == DeadLetter.Reason.SKIPPED else "bad")

    @admin.display(description="event")
    def event_link(self, letter: DeadLetter) -> str:
        return link(reverse("admin:events_event_change", args=[letter.event_id]), letter.event.event_type)

    @admin.display(description="subscription")
    def subscription_link(self, letter: DeadLetter) -> str:
        address = reverse("admin:subscriptions_subscription_change", args=[letter.subscription_id])
        return link(address, letter.subscription)

    @admin.display(description="last try")
    def last_try(self, letter: DeadLetter) -> str:
        return f"{letter.last_error or '–'} {letter.last_http_status or ''}"

    @admin.display(description="delivery")
    def delivery(self, letter: DeadLetter) -> str:
        return short(letter.pk)

    @admin.action(description="Send again", permissions=["act"])
    def requeue_selected(self, request: HttpRequest, rows: QuerySet[DeadLetter]) -> None:
        self.act_on_selected(request, rows, VERBS[0])
