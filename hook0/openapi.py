"""The API documents itself: its OpenAPI document, and a page to try it from."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerView

from tenants.api.public import PublicView


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Found by being imported, as the document's library has it."""

    target_class = "tenants.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An application secret, or the service token of an organization.",
        }


class StringMapSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = "tenants.fields.StringMap"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Characters, where the field counts bytes: JSON Schema knows no others."""
        text = {"type": "string", "minLength": 1, "maxLength": self.target.entry_bytes}
        return {
            "type": "object",
            "propertyNames": text,
            "additionalProperties": text,
            "minProperties": self.target.least,
            "maxProperties": self.target.most,
        }


@extend_schema(exclude=True)
class SchemaView(PublicView, SpectacularJSONAPIView):
    """The OpenAPI document."""


@extend_schema(exclude=True)
class TryView(PublicView, SpectacularSwaggerView):
    """A page that shows it, and sends requests."""

    url_name = "openapi"
