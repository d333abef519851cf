"""`GET /health/`: for whoever watches this installation from outside."""

import secrets
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from monitoring.health import check_broker, check_database
from tenants.api.public import PublicView
from tenants.fields import checked
from tenants.problems import Forbidden, NotFound, raises


class HealthQuery(serializers.Serializer[Any]):
    key = serializers.CharField(default="", allow_blank=True, trim_whitespace=False, help_text="HEALTH_CHECK_KEY.")


class HealthAnswer(serializers.Serializer[Any]):
    database = serializers.BooleanField()
    broker = serializers.BooleanField()
    pulsar = serializers.BooleanField(allow_null=True, help_text="null: there is none here.")
    object_storage = serializers.BooleanField(allow_null=True, help_text="null: there is none here.")
    database_duration_ms = serializers.IntegerField()
    broker_duration_ms = serializers.IntegerField()
    pulsar_duration_ms = serializers.IntegerField(allow_null=True)
    object_storage_duration_ms = serializers.IntegerField(allow_null=True)
    total_duration_ms = serializers.IntegerField()


class HealthView(PublicView):
    @raises(Forbidden, NotFound)
    @extend_schema(
        operation_id="health.get",
        tags=["Installation"],
        parameters=[HealthQuery],
        responses={200: HealthAnswer, 503: HealthAnswer},
    )
    def get(self, request: Request) -> Response:
        """Whether the database and the broker answer. 503 if one does not."""
        if not settings.HEALTH_CHECK_KEY:
            raise NotFound
        query = checked(HealthQuery, request.query_params)
        if not secrets.compare_digest(query["key"].encode(), settings.HEALTH_CHECK_KEY.encode()):
            raise Forbidden
        database, broker = check_database(), check_broker()
        answer = {
            "database": database.ok,
            "broker": broker.ok,
            "pulsar": None,
            "object_storage": None,
            "database_duration_ms": database.duration_ms,
            "broker_duration_ms": broker.duration_ms,
            "pulsar_duration_ms": None,
            "object_storage_duration_ms": None,
            "total_duration_ms": database.duration_ms + broker.duration_ms,
        }
        return Response(answer, status=200 if database.ok and broker.ok else 503)
