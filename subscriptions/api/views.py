"""`/subscriptions/`: who wants what."""

import uuid
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from subscriptions.api.serializers import SubscriptionPost
from subscriptions.configure import create_subscription
from subscriptions.matching import is_wildcard
from subscriptions.models import Subscription
from subscriptions.warnings import warnings_about
from subscriptions.workers import find_workers
from tenants.api.event_types import application_asked_for
from tenants.authentication import require_application
from tenants.models import Application, EventType
from tenants.problems import EventTypeDoesNotExist, NotFound


class SubscriptionsView(APIView):
    def post(self, request: Request) -> Response:
        """Create a subscription. The answer holds its signing secret."""
        body = SubscriptionPost(data=request.data)
        body.is_valid(raise_exception=True)
        fields = body.validated_data
        require_application(request, fields["application_id"])
        _require_event_types(fields["application_id"], fields["event_types"])
        organization_id = Application.objects.values_list("organization_id", flat=True).get(id=fields["application_id"])
        workers = find_workers(organization_id, fields.pop("dedicated_workers", None) or [])
        subscription = create_subscription(**_columns(fields), dedicated_workers=workers)
        answer = show(subscription) | {"warnings": warnings_about(subscription)}
        return Response(answer, status=201)

    def get(self, request: Request) -> Response:
        """The subscriptions of an application, oldest first."""
        application_id = application_asked_for(request)
        found = Subscription.objects.filter(application_id=application_id, deleted_at=None).prefetch_related(
            "dedicated_workers"
        )
        return Response([show(subscription) for subscription in found.order_by("created_at", "id")])


class SubscriptionView(APIView):
    def get(self, request: Request, subscription_id: uuid.UUID) -> Response:
        subscription = Subscription.objects.filter(id=subscription_id, deleted_at=None).first()
        if subscription is None:
            raise NotFound
        require_application(request, subscription.application_id)
        return Response(show(subscription))


def show(subscription: Subscription) -> dict[str, Any]:
    label_key, label_value = next(iter(subscription.labels.items()))
    return {
        "application_id": subscription.application_id,
        "subscription_id": subscription.id,
        "is_enabled": subscription.is_enabled,
        "event_types": subscription.event_types,
        "description": subscription.description or None,
        "secret": subscription.secret,
        "metadata": subscription.metadata,
        "label_key": label_key,
        "label_value": label_value,
        "labels": subscription.labels,
        "target": {
            "type": "http",
            "method": subscription.method,
            "url": subscription.url,
            "headers": subscription.headers,
        },
        "created_at": subscription.created_at,
        "updated_at": subscription.updated_at,
        "dedicated_workers": sorted(worker.name for worker in subscription.dedicated_workers.all()),
        "fifo_mode": subscription.fifo_mode,
        "fifo_key": subscription.fifo_key,
        "fifo_on_exhausted": subscription.fifo_on_exhausted,
        "retry_policy": subscription.retry_policy,
        "timeout_ms": subscription.timeout_ms,
        "max_in_flight": subscription.max_in_flight,
        "rate_limit": subscription.rate_limit,
        "is_paused": subscription.is_paused,
        "disable_after_hours": subscription.disable_after_hours,
        "disabled_reason": subscription.disabled_reason or None,
    }


def _columns(fields: dict[str, Any]) -> dict[str, Any]:
    target = fields.pop("target")
    return fields | {
        "description": fields.get("description") or "",
        "metadata": fields.get("metadata") or {},
        "timeout_ms": fields.get("timeout_ms") or int(settings.DELIVERY_TIMEOUT * 1000),
        "method": target["method"],
        "url": target["url"],
        "headers": target["headers"],
    }


def _require_event_types(application_id: uuid.UUID, names: list[str]) -> None:
    exact = {name for name in names if not is_wildcard(name)}
    known = EventType.objects.filter(application_id=application_id, name__in=exact, deactivated_at=None)
    if missing := exact - set(known.values_list("name", flat=True)):
        raise EventTypeDoesNotExist(f"The application has no active event type {', '.join(sorted(missing))}.")
