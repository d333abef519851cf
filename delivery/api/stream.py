"""`GET /subscriptions/{id}/stream/`: deliveries as they come. Served by the process of the streams (hook0.asgi)."""

import uuid
from collections.abc import AsyncGenerator
from typing import Any, cast

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from delivery.api.event_stream import CONTENT_TYPE, EventStream, event
from delivery.api.pull import MOST, PulledAnswer
from delivery.problems import StreamIsElsewhere
from delivery.pull import Pulled, Wanted
from delivery.stream import Stream, Terms
from delivery.streams import Streams
from subscriptions import limits
from subscriptions.api.views import find_subscription
from subscriptions.problems import SubscriptionIsNotPull
from tenants.authentication import principal_of, token_of
from tenants.credentials import principal_with
from tenants.fields import CommaList, Label, checked
from tenants.problems import raises

STREAMS = "hook0.streams"  # where the process that can serve them puts its Streams
EXAMPLE = """event: ping
data:

id: 0b9a4c6d2e8f4a10b1c2d3e4f5061728-1
event: message
data: {"token": "AZk-EgscfS6PMEFSY3QAAAASNFZ4mrzeAAZMCk8rYwA=", "lease_until": "2026-03-02T09:20:30.512Z", ...}
"""


class StreamQuery(serializers.Serializer[Any]):
    max_assigned = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        default=10,
        help_text="Deliveries that the consumer holds at a time: no more are sent before some of them end.",
    )
    event_types = CommaList(
        required=False,
        default=list,
        help_text="Deliveries of these types alone, separated by commas; `billing.*` for all that start so.",
    )
    labels = serializers.ListField(
        child=Label(),
        max_length=limits.LABELS[1],
        required=False,
        default=list,
        help_text="`key:value`; repeated, an event must carry all of them.",
    )


class StreamView(APIView):
    @raises(SubscriptionIsNotPull, StreamIsElsewhere)
    @extend_schema(
        operation_id="subscriptions.stream",
        tags=["Pull"],
        parameters=[
            StreamQuery,
            OpenApiParameter("Last-Event-ID", location="header", description="The last `id` that was received."),
        ],
        responses={(200, CONTENT_TYPE): {"type": "string", "examples": [EXAMPLE]}},
    )
    def get(self, request: Request, subscription_id: uuid.UUID) -> HttpResponseBase:
        """Stay connected and be sent deliveries as they come, as server-sent events.

        `message` is a delivery, as a poll has it; `ping` says that the stream lives. Acknowledge, reject or extend each
        delivery as if it was polled.
        """
        subscription = find_subscription(request, subscription_id)
        query = checked(StreamQuery, request.query_params)
        if not subscription.pulls:
            raise SubscriptionIsNotPull
        streams = request.META.get(STREAMS)
        if streams is None:
            raise StreamIsElsewhere
        token, principal = token_of(request), principal_of(request)
        terms = Terms(
            subscription.pk,
            max_assigned=query["max_assigned"],
            wanted=Wanted(query["event_types"], dict(query["labels"])),
            is_allowed=lambda: principal_with(token) == principal,
            last_event_id=request.headers.get("Last-Event-ID", ""),
        )
        stream = cast("Streams", streams).open(terms)
        return EventStream(_events(stream), stream.end)


async def _events(stream: Stream) -> AsyncGenerator[bytes, None]:
    deliveries = stream.deliveries()
    try:
        async for each in deliveries:
            yield event("ping") if each is None else event("message", _json(each[1]), id_=each[0])
    finally:
        await deliveries.aclose()


def _json(pulled: Pulled) -> bytes:
    return JSONRenderer().render(PulledAnswer(pulled).data)
