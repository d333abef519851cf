"""The steps of a newcomer, as Hook0 answers them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


@extend_schema_field({"type": "string", "enum": ["ToDo", "Done"]})
class Step(serializers.Field[object, Any, str, Any]):
    """Whether there is one already."""

    def to_representation(self, value: object) -> str:
        return "Done" if value else "ToDo"
