"""Why somebody acts on the queue: the body of nearly every verb."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from tenants.authentication import operator_of
from tenants.fields import checked, no_control_characters
from tenants.principal import Operator


class ReasonPost(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=500,
        trim_whitespace=False,
        required=False,
        allow_blank=True,
        default="",
        validators=[no_control_characters],
        help_text="It is put on the record.",
    )


def operator_in(request: Request) -> Operator:
    """The caller, with the reason that the body gives."""
    body = checked(ReasonPost, request.data)
    return operator_of(request, body["reason"])
