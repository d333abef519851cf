"""`/service_token/`: the tokens of an organization, for service tokens alone. Each is shown once."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.api.organizations import OrganizationListQuery, OrganizationQuery, organization_asked_for
from tenants.authentication import operator_of, require_organization
from tenants.credentials import SERVICE_TOKEN_PREFIX, create_service_token, revoke
from tenants.fields import checked, no_control_characters
from tenants.models import Organization, ServiceToken
from tenants.pages import NamedQuery, Page, named
from tenants.problems import NotFound


class ServiceTokenPost(serializers.Serializer[Any]):
    organization_id = serializers.UUIDField()
    name = serializers.CharField(max_length=50, allow_blank=True, validators=[no_control_characters])


class ServiceTokenAnswer(serializers.Serializer[Any]):
    token_id = serializers.UUIDField(source="id")
    name = serializers.CharField()
    biscuit = serializers.SerializerMethodField(help_text="The token itself when it is made; how it ends from then on.")
    created_at = serializers.DateTimeField()

    def get_biscuit(self, token: ServiceToken) -> str:
        return f"{SERVICE_TOKEN_PREFIX}***{token.hint}"


@extend_schema(tags=["Service tokens"])
class ServiceTokensView(APIView):
    @extend_schema(operation_id="serviceToken.create", request=ServiceTokenPost, responses={201: ServiceTokenAnswer})
    def post(self, request: Request) -> Response:
        """Create a service token. Keep the `biscuit` of the answer: it cannot be read again."""
        organization_id, name = _read(request)
        organization = Organization.objects.get(id=organization_id)
        service_token, token = create_service_token(organization, name=name, by=operator_of(request))
        return Response(ServiceTokenAnswer(service_token).data | {"biscuit": token}, status=201)

    @extend_schema(
        operation_id="serviceToken.list",
        parameters=[OrganizationListQuery, NamedQuery],
        responses=ServiceTokenAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The service tokens of an organization that are valid, oldest first."""
        organization_id = organization_asked_for(request)
        found = ServiceToken.objects.filter(organization_id=organization_id, deleted_at=None)
        page = Page(request, named(request, found), by=["created_at", "id"])
        return page.answer(ServiceTokenAnswer(page.rows, many=True).data)


@extend_schema(tags=["Service tokens"])
class ServiceTokenView(APIView):
    @extend_schema(operation_id="serviceToken.get", parameters=[OrganizationQuery], responses=ServiceTokenAnswer)
    def get(self, request: Request, token_id: uuid.UUID) -> Response:
        """One service token."""
        return Response(ServiceTokenAnswer(_find(organization_asked_for(request), token_id)).data)

    @extend_schema(operation_id="serviceToken.edit", request=ServiceTokenPost, responses=ServiceTokenAnswer)
    def put(self, request: Request, token_id: uuid.UUID) -> Response:
        """Give a service token another name."""
        organization_id, name = _read(request)
        service_token = _find(organization_id, token_id)
        service_token.name = name
        service_token.save(update_fields=["name"])
        return Response(ServiceTokenAnswer(service_token).data)

    @extend_schema(operation_id="serviceToken.delete", parameters=[OrganizationQuery], responses={204: None})
    def delete(self, request: Request, token_id: uuid.UUID) -> Response:
        """Revoke a service token."""
        revoke(_find(organization_asked_for(request), token_id), by=operator_of(request))
        return Response(status=204)


def _read(request: Request) -> tuple[uuid.UUID, str]:
    """The organization and the name in a body, if the caller may act for this organization."""
    body = checked(ServiceTokenPost, request.data)
    require_organization(request, body["organization_id"])
    return body["organization_id"], body["name"]


def _find(organization_id: uuid.UUID, token_id: uuid.UUID) -> ServiceToken:
    found = ServiceToken.objects.filter(id=token_id, organization_id=organization_id, deleted_at=None).first()
    if found is None:
        raise NotFound
    return found
