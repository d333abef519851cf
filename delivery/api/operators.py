"""Who acts on the queue through the API."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from delivery.audit import Operator
from tenants.authentication import principal_of


class ReasonPost(serializers.Serializer[Any]):
    """The body of everything that somebody asks of the queue."""

    reason = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default="", help_text="Why; it is put on the record."
    )


def operator_of(request: Request, reason: str) -> Operator:
    """The owner of the token, as the record names it."""
    principal = principal_of(request)
    if principal.application_id is not None:
        return Operator(f"application {principal.application_id}", reason)
    return Operator(f"organization {principal.organization_id}", reason)
