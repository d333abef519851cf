"""`/keys/`: events that were given up, under the keys that they had named for this."""

import base64
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.models import DeadLetter
from events import limits
from events.models import Undelivered
from events.undelivered import under
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.authentication import find
from tenants.fields import checked, no_control_characters
from tenants.pages import Page

PAGE = 100


class KeysQuery(ApplicationListQuery):
    prefix = serializers.ListField(
        child=serializers.CharField(
            max_length=limits.KEY_CHARACTERS, trim_whitespace=False, validators=[no_control_characters]
        ),
        max_length=limits.KEY_PARTS,
        required=False,
        default=list,
        help_text="What the path begins with; repeated, one part after the other. Left out: all.",
    )


class KeyAnswer(serializers.Serializer[Any]):
    key_id = serializers.IntegerField(source="id")
    path = serializers.ListField(child=serializers.CharField())
    event_id = serializers.UUIDField()
    event_type = serializers.CharField()
    payload = serializers.SerializerMethodField(help_text="In base64, whatever its content type.")
    payload_content_type = serializers.CharField()
    subscription_id = serializers.UUIDField(help_text="To which it could not be delivered.")
    reason = serializers.ChoiceField(choices=DeadLetter.Reason.choices)
    stored_at = serializers.DateTimeField()

    def get_payload(self, kept: Undelivered) -> str:
        return base64.b64encode(kept.payload).decode()


class KeysView(APIView):
    @extend_schema(operation_id="keys.list", tags=["Keys"], parameters=[KeysQuery], responses=KeyAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The keys of an application that begin with a prefix, in their order, with what is stored under them."""
        application_id = application_asked_for(request)
        query = checked(KeysQuery, request.query_params)
        kept = under(Undelivered.objects.filter(application=application_id), query["prefix"])
        page = Page(request, kept, by=["path"], size=PAGE)
        return page.answer(KeyAnswer(page.rows, many=True).data)


@extend_schema(tags=["Keys"])
class KeyView(APIView):
    @extend_schema(operation_id="keys.get", responses=KeyAnswer)
    def get(self, request: Request, key_id: int) -> Response:
        """One key, with what is stored under it."""
        return Response(KeyAnswer(find(request, Undelivered.objects.all(), key_id)).data)

    @extend_schema(operation_id="keys.delete", responses={204: None})
    def delete(self, request: Request, key_id: int) -> Response:
        """Let a key go."""
        find(request, Undelivered.objects.all(), key_id).delete()
        return Response(status=204)
