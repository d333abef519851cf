"""`/bulk_loads/`: what Spark has loaded, how far its release is, and what can be done about it."""

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost, operator_in
from events import bulk_loads
from events.models import BulkLoad
from events.problems import BulkLoadConflict
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.authentication import find, operator_of
from tenants.fields import checked
from tenants.pages import Page
from tenants.problems import raises

MOST_PER_SECOND = 1_000_000


class BulkLoadListQuery(ApplicationListQuery):
    state = serializers.ChoiceField(choices=BulkLoad.State.choices, required=False)


class BulkLoadPut(ReasonPost):
    per_second = serializers.IntegerField(
        min_value=1,
        max_value=MOST_PER_SECOND,
        allow_null=True,
        help_text="Events to release; null: as fast as live deliveries do not notice.",
    )


class CancelBulkLoadPost(ReasonPost):
    pending = serializers.BooleanField(
        default=False, help_text="Call off what is released already, and still pending, as well."
    )


class BulkLoadAnswer(serializers.Serializer[Any]):
    bulk_load_id = serializers.UUIDField(source="id")
    application_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=BulkLoad.State.choices)
    stage = serializers.CharField(help_text="What goes on, in words.")
    progress = serializers.IntegerField(help_text="Of the load into the database, in percent.")
    source: Any = serializers.CharField(help_text="Where the rows come from.")
    actor = serializers.CharField(help_text="Who loads.")
    error = serializers.CharField(help_text="What went wrong last.")
    is_stream = serializers.BooleanField(help_text="More may come for as long as it is not over.")
    rows_read = serializers.IntegerField()
    rows_duplicate = serializers.IntegerField(help_text="Their event was there before, or earlier in the load.")
    rows_quarantined = serializers.IntegerField(help_text="They were left out; `quarantined` says why.")
    quarantined = serializers.DictField(child=serializers.IntegerField(), help_text="How many rows for which reason.")
    events_count = serializers.IntegerField(help_text="Events of it that there are.")
    events_released = serializers.IntegerField(help_text="Those whose deliveries are made.")
    deliveries = serializers.IntegerField(help_text="Deliveries made.")
    per_second = serializers.IntegerField(
        allow_null=True, help_text="Events to release; null: as fast as live deliveries do not notice."
    )
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(help_text="When it was last begun, or gone on with.")
    loaded_at = serializers.DateTimeField(allow_null=True, help_text="When all of its events were there.")
    finished_at = serializers.DateTimeField(allow_null=True)


@extend_schema(tags=["Bulk loads"])
class BulkLoadsView(APIView):
    @extend_schema(operation_id="bulkLoads.list", parameters=[BulkLoadListQuery], responses=BulkLoadAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The bulk loads of an application, latest first."""
        found = BulkLoad.objects.filter(application_id=application_asked_for(request))
        if state := checked(BulkLoadListQuery, request.query_params).get("state"):
            found = found.filter(state=state)
        page = Page(request, found, by=["-created_at", "-id"])
        return page.answer(BulkLoadAnswer(page.rows, many=True).data)


@extend_schema(tags=["Bulk loads"])
class BulkLoadView(APIView):
    @extend_schema(operation_id="bulkLoads.get", responses=BulkLoadAnswer)
    def get(self, request: Request, bulk_load_id: uuid.UUID) -> Response:
        """One bulk load, and how far it has come."""
        return Response(BulkLoadAnswer(_find(request, bulk_load_id)).data)

    @raises(BulkLoadConflict)
    @extend_schema(operation_id="bulkLoads.update", request=BulkLoadPut, responses=BulkLoadAnswer)
    def put(self, request: Request, bulk_load_id: uuid.UUID) -> Response:
        """Release so many events per second from now on, or as many as live deliveries do not notice."""
        load = _find(request, bulk_load_id)
        body = checked(BulkLoadPut, request.data)
        bulk_loads.change_rate(load.pk, body["per_second"], by=operator_of(request, body["reason"]))
        return Response(BulkLoadAnswer(_find(request, bulk_load_id)).data)


class BulkLoadVerbView(APIView):
    """Do something to a bulk load, on the record, and answer how it stands then."""

    act: Callable[..., None]

    @raises(BulkLoadConflict)
    def post(self, request: Request, bulk_load_id: uuid.UUID) -> Response:
        load = _find(request, bulk_load_id)
        self.act(load.pk, by=operator_in(request))
        return Response(BulkLoadAnswer(_find(request, bulk_load_id)).data)


def _verb(name: str, act: Callable[..., None]) -> type[BulkLoadVerbView]:
    """The view of a verb, which says of itself what the verb does."""
    view = type(f"BulkLoad{name.title()}View", (BulkLoadVerbView,), {"act": staticmethod(act)})
    documented = extend_schema(
        operation_id=f"bulkLoads.{name}",
        description=act.__doc__,
        tags=["Bulk loads"],
        request=ReasonPost,
        responses=BulkLoadAnswer,
    )
    return extend_schema_view(post=documented)(view)


BulkLoadPauseView = _verb("pause", bulk_loads.pause)
BulkLoadResumeView = _verb("resume", bulk_loads.resume)


@extend_schema(tags=["Bulk loads"])
class BulkLoadCancelView(APIView):
    @raises(BulkLoadConflict)
    @extend_schema(operation_id="bulkLoads.cancel", request=CancelBulkLoadPost, responses=BulkLoadAnswer)
    def post(self, request: Request, bulk_load_id: uuid.UUID) -> Response:
        """Release no more of it, ever. Its events that were not released are removed, in the background.

        With `pending`, those of its deliveries that are made and not done yet are called off as well. One that is being
        sent right now may arrive, but it is not tried again.
        """
        load = _find(request, bulk_load_id)
        body = checked(CancelBulkLoadPost, request.data)
        bulk_loads.cancel(load.pk, pending=body["pending"], by=operator_of(request, body["reason"]))
        return Response(BulkLoadAnswer(_find(request, bulk_load_id)).data)


def _find(request: Request, bulk_load_id: uuid.UUID) -> BulkLoad:
    return find(request, BulkLoad.objects.all(), bulk_load_id)
