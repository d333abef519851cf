"""`GET /payload_content_types/`: how a payload may be written."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from events.limits import CONTENT_TYPES
from tenants.api.public import PublicView


class PayloadContentTypesView(PublicView):
    @extend_schema(
        operation_id="payloadContentTypes.list",
        tags=["Events"],
        responses=serializers.ListSerializer(child=serializers.ChoiceField(choices=CONTENT_TYPES)),
    )
    def get(self, request: Request) -> Response:
        """What `payload_content_type` of an event may be."""
        return Response(CONTENT_TYPES)
