import re
import uuid
from typing import Any

from django.contrib import admin
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from rest_framework.exceptions import APIException

from delivery import attempts
from delivery.admin.attempt_filters import AttemptFilters
from delivery.api.request_attempts import sought
from delivery.attempt_ids import made_at
from delivery.attempts import ROUNDED, Attempt, among_newest, find_attempts
from delivery.audit import Operator
from delivery.models import AttemptLog
from delivery.retry_now import retry_now
from delivery.webhook import signed_request
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import badge, link, moment, short
from tenants.keyset_list import AFTER
from tenants.staff import applications_of, choose_application, read_uuid
from tenants.verbs import Verb, complaint
from tenants.written import indented

PAGE = 50
SIGNED = re.compile("signature|timestamp", re.IGNORECASE)


def _retry(ended: AttemptLog, fields: dict[str, Any], by: Operator) -> str:
    retry_now(ended.pk, by=by)
    return "It is sent again, as a new delivery."


@admin.register(AttemptLog)
class AttemptLogAdmin(ReadOnlyAdmin):
    """Tries: the list has those that are to come, too."""

    organization = "application__organization"
    fields = (
        "result", "event_link", "subscription_link", "lane_seq", "try_number", "created", "due", "ended", "elapsed_ms",
        "worker", "next_try", "delivery",
    )  # fmt: skip
    sections = ("delivery/attempt.html",)
    verbs = (
        Verb(
            "retry",
            "Send again",
            _retry,
            lambda _: (
                "A new delivery of the same event to the same subscription, at the tail of its lane if it has one."
            ),
            icon="replay",
        ),
    )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The days before it was made are not looked at."""
        if (attempt := read_uuid(object_id)) is None:
            return None
        mine = self.get_queryset(request).filter(pk=attempt, ended_at__gte=made_at(attempt) - ROUNDED)
        return mine.select_related("event", "subscription").first()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        chosen = choose_application(request)
        filters = AttemptFilters(request.GET, application_id=chosen)
        found: list[Attempt] = []
        edge: uuid.UUID | None = None
        if chosen and filters.is_valid():
            after = read_uuid(request.GET.get(AFTER))
            try:
                wanted = sought(chosen, filters.wanted, {"id": str(after)} if after else None)
                near = among_newest(wanted)
                edge = near.since if near.since != wanted.since else None
                found = find_attempts(near, most=PAGE + 1)
            except APIException as problem:
                filters.add_error(None, complaint(problem))
        query = request.GET.copy()
        if len(found) > PAGE:
            query[AFTER] = str(found[PAGE - 1].id)
        elif edge:
            query[AFTER] = str(edge)
        is_cut = edge is not None and len(found) <= PAGE
        page = {
            "title": "Request attempts", "filters": filters, "attempts": found[:PAGE], "application_id": chosen,
            "chosen": chosen, "applications": applications_of(request.user),
            "next_address": f"?{query.urlencode()}" if len(found) > PAGE or edge else "",
            "is_first": AFTER not in request.GET, "looked_at": attempts.LOOKED_AT if is_cut else None,
        }  # fmt: skip
        return TemplateResponse(request, "delivery/attempts_page.html", self._context(request, page))

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        event = _event_of(row)
        body = bytes(row.response_body or b"")
        return {
            "request_line": f"{row.subscription.method} {row.subscription.url}",
            "request_headers": _headers(row, event) if event else [],
            "payload": indented(bytes(event.payload)) if event else None,
            "response_headers": row.response_headers or {},
            "response_body": indented(body),
        }

    @admin.display(description="result")
    def result(self, row: AttemptLog) -> str:
        if row.succeeded:
            return badge(f"successful · {row.http_status}", "good")
        return badge(f"{row.error_name} {row.http_status or ''}", "bad")

    @admin.display(description="event")
    def event_link(self, row: AttemptLog) -> str:
        event = _event_of(row)
        return link(reverse("admin:events_event_change", args=[row.event_id]), event) if event else "past retention"

    @admin.display(description="subscription")
    def subscription_link(self, row: AttemptLog) -> str:
        return link(reverse("admin:subscriptions_subscription_change", args=[row.subscription_id]), row.subscription)

    @admin.display(description="delivery made")
    def created(self, row: AttemptLog) -> str:
        return moment(row.created_at)

    @admin.display(description="due")
    def due(self, row: AttemptLog) -> str:
        return moment(row.due_at)

    @admin.display(description="ended")
    def ended(self, row: AttemptLog) -> str:
        return moment(row.ended_at)

    @admin.display(description="next try")
    def next_try(self, row: AttemptLog) -> str:
        return moment(row.retry_at)

    @admin.display(description="delivery")
    def delivery(self, row: AttemptLog) -> str:
        return short(row.delivery_id)


def _headers(row: AttemptLog, event: Any) -> list[tuple[str, str]]:
    """As the subscription sends them now; without signatures, which would let the reader send the same."""
    ours = {"X-Hook0-Delivery-Id": str(row.delivery_id), "X-Hook0-Attempt": str(row.try_number)}
    if row.lane_id is not None:
        ours |= {"X-Hook0-Lane": str(row.lane_id), "X-Hook0-Sequence": str(row.lane_seq)}
    request = signed_request(
        method=row.subscription.method,
        url=row.subscription.url,
        custom=row.subscription.headers,
        ours=ours,
        event_id=event.event_id,
        event_type=event.event_type,
        payload=b"",
        content_type=event.payload_content_type,
        secret=row.subscription.secret,
        previous_secret=None,
        timestamp=0,
        timeout_ms=row.subscription.timeout_ms,
    )
    return [(name, value) for name, value in request.headers if not SIGNED.search(name)]


def _event_of(row: AttemptLog) -> Any:
    """Its event, unless retention has taken that."""
    try:
        return row.event
    except ObjectDoesNotExist:
        return None
