"""`/application_secrets/`: the tokens of an application. Each is shown once; afterwards it goes by its id."""

import uuid
from typing import Any

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.api.event_types import ApplicationListQuery, ApplicationQuery, application_asked_for
from tenants.authentication import operator_of, require_application
from tenants.credentials import create_application_secret, hash_token, revoke
from tenants.fields import checked, no_control_characters
from tenants.models import Application, ApplicationSecret
from tenants.pages import NamedQuery, Page, named
from tenants.problems import NotFound


class ApplicationSecretPost(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    name = serializers.CharField(
        max_length=50, required=False, allow_null=True, allow_blank=True, validators=[no_control_characters]
    )


class ApplicationSecretAnswer(serializers.Serializer[Any]):
    application_secret_id = serializers.UUIDField(source="id")
    name = serializers.SerializerMethodField()
    token = serializers.UUIDField(
        source="id", help_text="The token itself when it is made; the id in its place from then on."
    )
    hint = serializers.CharField(help_text="How the token ends.")
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)

    def get_name(self, secret: ApplicationSecret) -> str | None:
        return secret.name or None


@extend_schema(tags=["Application secrets"])
class ApplicationSecretsView(APIView):
    @extend_schema(
        operation_id="applicationSecrets.create",
        request=ApplicationSecretPost,
        responses={201: ApplicationSecretAnswer},
    )
    def post(self, request: Request) -> Response:
        """Create a secret. Keep the `token` of the answer: it cannot be read again."""
        application_id, name = _read(request)
        application = Application.objects.get(id=application_id)
        secret, token = create_application_secret(application, name=name, by=operator_of(request))
        return Response(ApplicationSecretAnswer(secret).data | {"token": token}, status=201)

    @extend_schema(
        operation_id="applicationSecrets.read",
        parameters=[ApplicationListQuery, NamedQuery],
        responses=ApplicationSecretAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The secrets of an application that are valid, oldest first."""
        application_id = application_asked_for(request)
        found = ApplicationSecret.objects.filter(application_id=application_id, deleted_at=None)
        page = Page(request, named(request, found), by=["created_at", "id"])
        return page.answer(ApplicationSecretAnswer(page.rows, many=True).data)


@extend_schema(tags=["Application secrets"])
class ApplicationSecretView(APIView):
    """In the address stands the id of a secret, or its token: who has made it with a client of Hook0 has only that."""

    @extend_schema(
        operation_id="applicationSecrets.update", request=ApplicationSecretPost, responses=ApplicationSecretAnswer
    )
    def put(self, request: Request, token: uuid.UUID) -> Response:
        """Give a secret another name."""
        application_id, name = _read(request)
        secret = _find(application_id, token)
        secret.name = name
        secret.save(update_fields=["name"])
        return Response(ApplicationSecretAnswer(secret).data | {"token": token})

    @extend_schema(operation_id="applicationSecrets.delete", parameters=[ApplicationQuery], responses={204: None})
    def delete(self, request: Request, token: uuid.UUID) -> Response:
        """Revoke a secret."""
        revoke(_find(application_asked_for(request), token), by=operator_of(request))
        return Response(status=204)


def _read(request: Request) -> tuple[uuid.UUID, str]:
    """The application and the name in a body, if the caller may act inside this application."""
    body = checked(ApplicationSecretPost, request.data)
    require_application(request, body["application_id"])
    return body["application_id"], body.get("name") or ""


def _find(application_id: uuid.UUID, token: uuid.UUID) -> ApplicationSecret:
    named = Q(id=token) | Q(token_hash=hash_token(str(token)))
    found = ApplicationSecret.objects.filter(named, application_id=application_id, deleted_at=None).first()
    if found is None:
        raise NotFound
    return found
