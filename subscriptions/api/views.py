"""`/subscriptions/`: who wants what."""

import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from subscriptions.api.serializers import ConfiguredAnswer, SubscriptionAnswer, SubscriptionPost, WarningAnswer
from subscriptions.configure import appetite, create_subscription, patience
from subscriptions.matching import is_wildcard, names_for
from subscriptions.models import Subscription
from subscriptions.problems import LabelsAmbiguity, TooManySubscriptionsPerApplication, UnauthorizedWorkers
from subscriptions.warnings import warnings_about
from subscriptions.workers import find_workers
from tenants.api.event_types import ApplicationListQuery, ApplicationQuery, application_asked_for
from tenants.authentication import find, operator_of, require_application
from tenants.fields import checked
from tenants.models import Application, EventType
from tenants.own_event_types import ANNOUNCEMENTS
from tenants.pages import Page
from tenants.problems import EventTypeDoesNotExist, NotFound, raises

# A body replaces everything: what its target does not have is as in a new subscription.
_NO_TARGET: dict[str, Any] = {"method": "POST", "url": "", "headers": {}, "lease_seconds": 30}


class SubscriptionListQuery(ApplicationListQuery):
    is_enabled = serializers.BooleanField(required=False, allow_null=True)
    fifo_mode = serializers.BooleanField(required=False, allow_null=True)
    event_type = serializers.CharField(required=False, help_text="Those that get events of this type.")
    label = serializers.RegexField(  # type: ignore[assignment] # a field has a `label` of its own
        r"^[^:]+:.+$",
        required=False,
        help_text="`key:value`: those that ask for this label.",
        error_messages={"invalid": "This must be `key:value`."},
    )


@extend_schema(tags=["Subscriptions"])
class SubscriptionsView(APIView):
    @raises(EventTypeDoesNotExist, LabelsAmbiguity, UnauthorizedWorkers, TooManySubscriptionsPerApplication)
    @extend_schema(operation_id="subscriptions.create", request=SubscriptionPost, responses={201: ConfiguredAnswer})
    def post(self, request: Request) -> Response:
        """Create a subscription. The answer holds its signing secret."""
        subscription = create_subscription(**_read(request), by=operator_of(request))
        return Response(_configured(subscription), status=201)

    @extend_schema(
        operation_id="subscriptions.list",
        parameters=[SubscriptionListQuery],
        responses=SubscriptionAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The subscriptions of an application, oldest first."""
        application_id = application_asked_for(request)
        query = checked(SubscriptionListQuery, request.query_params)
        wanted = Subscription.objects.filter(application_id=application_id, deleted_at=None, **_filters(query))
        page = Page(request, wanted.prefetch_related("dedicated_workers"), by=["created_at", "id"])
        return page.answer(SubscriptionAnswer(page.rows, many=True).data)


@extend_schema(tags=["Subscriptions"])
class SubscriptionView(APIView):
    # hook0.urls says which functions: the queue that has to follow is above us.
    edit: Callable[..., int] = NotImplemented
    remove: Callable[..., object] = NotImplemented

    @extend_schema(operation_id="subscriptions.get", responses=SubscriptionAnswer)
    def get(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """One subscription."""
        return Response(SubscriptionAnswer(find_subscription(request, subscription_id)).data)

    @raises(EventTypeDoesNotExist, LabelsAmbiguity, UnauthorizedWorkers)
    @extend_schema(operation_id="subscriptions.update", request=SubscriptionPost, responses=ConfiguredAnswer)
    def put(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Replace all that a subscription says of itself: what is left out gets its default. What waits follows."""
        fields = _read(request)
        require_subscription(fields.pop("application_id"), subscription_id)
        moved = self.edit(subscription_id, fields, by=operator_of(request))
        return Response(_configured(find_subscription(request, subscription_id), moved=moved))

    @extend_schema(operation_id="subscriptions.delete", parameters=[ApplicationQuery], responses={204: None})
    def delete(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Delete a subscription, with all that waits for it."""
        require_subscription(application_asked_for(request), subscription_id)
        self.remove(subscription_id, by=operator_of(request))
        return Response(status=204)


def find_subscription(request: Request, subscription_id: uuid.UUID) -> Subscription:
    """The subscription of this id, if the caller may act on it."""
    return find(request, Subscription.objects.filter(deleted_at=None), subscription_id)


def require_subscription(application_id: uuid.UUID, subscription_id: uuid.UUID) -> None:
    """Go on only if the application has this subscription."""
    if not Subscription.objects.filter(id=subscription_id, application_id=application_id, deleted_at=None).exists():
        raise NotFound("The application has no such subscription.")


def _configured(subscription: Subscription, *, moved: int = 0) -> Any:
    warnings = WarningAnswer(warnings_about(subscription, moved=moved), many=True).data
    return SubscriptionAnswer(subscription).data | {"warnings": warnings}


def _read(request: Request) -> dict[str, Any]:
    """The columns and workers that a body asks for, if the caller may have all that it names."""
    fields = checked(SubscriptionPost, request.data)
    require_application(request, fields["application_id"])
    return as_columns(fields)


def as_columns(fields: dict[str, Any]) -> dict[str, Any]:
    """What a checked body says, in columns and workers; what is left out gets its default."""
    _require_event_types(fields["application_id"], fields["event_types"])
    organization_id = Application.objects.values_list("organization_id", flat=True).get(id=fields["application_id"])
    target = fields.pop("target")
    fields.setdefault("disable_after_hours", patience(fifo_mode=fields["fifo_mode"]))
    fields.setdefault("max_in_flight", appetite(target["type"]))
    fields["description"] = fields.get("description") or ""
    fields["metadata"] = fields.get("metadata") or {}
    fields["timeout_ms"] = fields.get("timeout_ms") or int(settings.DELIVERY_TIMEOUT * 1000)
    fields["dedicated_workers"] = find_workers(organization_id, fields.get("dedicated_workers") or [])
    return {**fields, **_NO_TARGET, "target_type": target.pop("type"), **target}


def _filters(query: dict[str, Any]) -> dict[str, Any]:
    """A query string in the words of `QuerySet.filter`."""
    filters = {name: query[name] for name in ("is_enabled", "fifo_mode") if query.get(name) is not None}
    if event_type := query.get("event_type"):
        filters["event_types__overlap"] = names_for(event_type)
    if label := query.get("label"):
        key, _, value = label.partition(":")
        filters["labels__contains"] = {key: value}
    return filters


def _require_event_types(application_id: uuid.UUID, names: list[str]) -> None:
    """Those of hook0's own are made known to an application when it is first told of such."""
    exact = {name for name in names if not is_wildcard(name)}.difference(ANNOUNCEMENTS)
    known = EventType.objects.filter(application_id=application_id, name__in=exact, deactivated_at=None)
    if missing := exact - set(known.values_list("name", flat=True)):
        raise EventTypeDoesNotExist(f"The application has no active event type {', '.join(sorted(missing))}.")
