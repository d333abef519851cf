"""Bearer authentication for DRF."""

import uuid
from typing import TypeVar, cast

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tenants.credentials import principal_with, reaches
from tenants.principal import Operator, Principal
from tenants.problems import (
    AuthInvalidAuthorizationHeader,
    AuthInvalidBiscuit,
    AuthNoAuthorizationHeader,
    Forbidden,
    NotFound,
)

Row = TypeVar("Row", bound=Model)


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <application secret or service token>`; the word Bearer may be left out."""

    def authenticate(self, request: Request) -> tuple[Principal, None]:
        token = token_of(request)
        if not token:
            raise AuthNoAuthorizationHeader
        if not token.isascii():
            raise AuthInvalidAuthorizationHeader
        principal = principal_with(token)
        if principal is None:
            raise AuthInvalidBiscuit
        return principal, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def token_of(request: HttpRequest | Request) -> str:
    """The token that a request brings; empty where it brings none."""
    header: str = request.META.get("HTTP_AUTHORIZATION", "")
    return header.strip().removeprefix("Bearer").strip()


def principal_of(request: Request) -> Principal:
    return cast("Principal", request.user)


def require_organization(request: Request, organization_id: uuid.UUID) -> None:
    """Go on only if the caller may act for this organization as a whole, as its service tokens may."""
    principal = principal_of(request)
    if principal.application_id is not None or principal.organization_id != organization_id:
        raise Forbidden


def require_application(request: Request, application_id: uuid.UUID) -> None:
    """Go on only if the caller may act inside this application."""
    principal = principal_of(request)
    if principal.application_id is not None:
        allowed = principal.application_id == application_id
    else:
        allowed = reaches(principal.organization_id, application_id)
    if not allowed:
        raise Forbidden


def find(request: Request, rows: QuerySet[Row], pk: object, *, application: str = "application") -> Row:
    """The row of this id, if the caller may act on it; `application` is the way to the row's.

    Whose it is makes no difference to the answer: nobody learns what others have.
    """
    principal = principal_of(request)
    if principal.application_id is not None:
        mine = Q(**{application: principal.application_id})
    else:
        mine = Q(**{f"{application}__organization": principal.organization_id, f"{application}__deleted_at": None})
    found = rows.filter(mine, pk=pk).first()
    if found is None:
        raise NotFound
    return found


def operator_of(request: Request, reason: str = "") -> Operator:
    """The caller, for the record of what was done to the queue."""
    return Operator(principal_of(request).name, reason)
