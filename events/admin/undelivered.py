import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from delivery.attempts import Sought, find_attempts
from events.models import Event, Undelivered
from events.undelivered import under
from tenants.admin_pages import OfApplicationAdmin, ReadOnlyAdmin
from tenants.cells import badge, copyable, link, moment
from tenants.keyset_list import APPLICATION
from tenants.written import indented

TRIES = 200


def read_prefix(term: str) -> list[str]:
    """Words between slashes; or a list of them in JSON, for words that have slashes themselves."""
    if term.startswith("["):
        try:
            found = json.loads(term)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and all(isinstance(word, str) for word in found):
            return found
    return term.split("/") if term else []


@admin.register(Undelivered)
class UndeliveredAdmin(OfApplicationAdmin, ReadOnlyAdmin):
    organization = "application__organization"
    by = ("path",)
    list_display = ("key", "event_type", "why", "subscription_link", "stored")
    list_select_related = ("subscription",)
    search_fields = ("path",)
    search_help_text = "How a key begins: failed-payments/ord"
    fields = ("key", "event_link", "why", "subscription_link", "stored")
    nothing = "Nothing is kept. An event that names keys_if_undelivered is kept under them when a delivery is given up."
    sections = ("events/undelivered.html",)

    def narrow(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return super().narrow(request, rows).defer("payload")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Undelivered], search_term: str
    ) -> tuple[QuerySet[Undelivered], bool]:
        return under(queryset, read_prefix(search_term), is_last_whole=False), False

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        sought = Sought(row.application_id, event_id=row.event_id, subscription_id=row.subscription_id)
        return {
            "application_id": row.application_id,
            "attempts": find_attempts(sought, most=TRIES),
            "payload": indented(bytes(row.payload)),
            "payload_type": row.payload_content_type,
        }

    @admin.display(description="key")
    def key(self, kept: Undelivered) -> str:
        return str(kept)

    @admin.display(description="why")
    def why(self, kept: Undelivered) -> str:
        return badge(kept.reason, "bad")

    @admin.display(description="event")
    def event_link(self, kept: Undelivered) -> str:
        """Keys outlive the events, which retention deletes."""
        if not Event.objects.filter(application=kept.application_id, event_id=kept.event_id).exists():
            return copyable(kept.event_id, f"{kept.event_type}, past retention")
        address = reverse("admin:events_event_change", args=[kept.event_id])
        return link(f"{address}?{APPLICATION}={kept.application_id}", kept.event_type)

    @admin.display(description="subscription")
    def subscription_link(self, kept: Undelivered) -> str:
        address = reverse("admin:subscriptions_subscription_change", args=[kept.subscription_id])
        return link(address, kept.subscription)

    @admin.display(description="kept")
    def stored(self, kept: Undelivered) -> str:
        return moment(kept.stored_at)
