from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect

from delivery import dead_letters
from delivery.attempts import Sought, find_attempts
from delivery.audit import Operator
from delivery.models import RequestAttempt
from events.models import Event
from events.replay import replay
from subscriptions.matching import is_wildcard
from tenants.admin_pages import OfApplicationAdmin, ReadOnlyAdmin
from tenants.cells import copyable, moment
from tenants.keyset_list import APPLICATION
from tenants.staff import read_uuid
from tenants.verbs import GoodReason, Verb
from tenants.written import indented

TRIES = 200
LOOKED_AT = 2_000  # events, on a page of those of a type or with a label
SPANS = {"hour": ("Last hour", 1), "day": ("Last 24 hours", 24), "week": ("Last 7 days", 168)}


def _replay(event: Event, fields: dict[str, Any], by: Operator) -> str:
    replay(event.application_id, event.event_id, by=by)
    return "It is delivered again to the subscriptions that want it now."


def _cancel(event: Event, fields: dict[str, Any], by: Operator) -> str:
    return f"{dead_letters.cancel(RequestAttempt.objects.filter(event=event), by=by)} deliveries are called off."


class ReceivedFilter(admin.SimpleListFilter):
    title, parameter_name = "received", "received"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in SPANS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        if (wanted := self.value()) not in SPANS:
            return queryset
        return queryset.filter(received_at__gte=datetime.now(UTC) - timedelta(hours=SPANS[wanted][1]))


@admin.register(Event)
class EventAdmin(OfApplicationAdmin, ReadOnlyAdmin):
    organization = "application__organization"
    by = ("-received_at", "-id")
    list_display = ("event_type", "received", "said_labels", "copy_id")
    list_filter = (ReceivedFilter,)
    search_fields = ("event_id",)
    search_help_text = "An id, a type (billing.* for all that start so), or a label as key:value"
    fields = (
        "copy_id", "event_type", "application", "received", "occurred", "said_labels", "metadata", "ordering_key",
        "priority", "ip",
    )  # fmt: skip
    nothing = "No events yet. The README shows how to send the first; docs/tutorial goes on from there."
    sections = ("events/event.html",)
    verbs = (
        Verb(
            "replay",
            "Replay",
            _replay,
            lambda _: "New deliveries to every enabled subscription that wants it now, at the tails of their lanes.",
            icon="replay",
        ),
        Verb(
            "cancel",
            "Cancel what is pending",
            _cancel,
            lambda _: "Its deliveries that have not ended are called off. In a lane they leave when their turn comes.",
            form=GoodReason,
            icon="cancel",
            is_dangerous=True,
        ),
    )

    def narrow(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return super().narrow(request, rows).defer("payload")

    def looks_at(self, request: HttpRequest) -> int | None:
        """No index has types or labels."""
        term = request.GET.get("q", "").strip()
        return LOOKED_AT if term and not read_uuid(term) else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        key, colon, value = search_term.partition(":")
        if not search_term:
            found = queryset
        elif event_id := read_uuid(search_term):
            found = queryset.filter(event_id=event_id)
        elif colon:
            found = queryset.filter(labels__contains={key: value})
        elif is_wildcard(search_term):
            found = queryset.filter(event_type__startswith=search_term[:-1])
        else:
            found = queryset.filter(event_type=search_term)
        return found, False

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, *rest: Any, **more: Any) -> Any:
        """Links know an event by its own id, and the application by theirs."""
        if object_id and not object_id.isdecimal():
            named = self.get_queryset(request).filter(event_id=read_uuid(object_id))
            if application := read_uuid(request.GET.get(APPLICATION)):
                named = named.filter(application=application)
            if event := named.only("pk").first():
                return HttpResponseRedirect(self.address(event))
        return super().changeform_view(request, object_id, *rest, **more)

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        found = find_attempts(Sought(row.application_id, event_id=row.event_id), most=TRIES)
        return {
            "application_id": row.application_id,
            "attempts": found,
            "payload": indented(bytes(row.payload)),
            "payload_type": row.payload_content_type,
        }

    @admin.display(description="id")
    def copy_id(self, event: Event) -> str:
        return copyable(event.event_id)

    @admin.display(description="received")
    def received(self, event: Event) -> str:
        return moment(event.received_at)

    @admin.display(description="occurred")
    def occurred(self, event: Event) -> str:
        return moment(event.occurred_at)

    @admin.display(description="labels")
    def said_labels(self, event: Event) -> str:
        return ", ".join(f"{key}:{value}" for key, value in event.labels.items())
