"""The views of verbs: each does something to what its address names, on the record, and answers how it stands then."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost, operator_in
from tenants.problems import Problem, raises


def verb_view(
    operation: str,
    act: Callable[..., object],
    *,
    tag: str,
    find: Callable[[Request, Any], Any],
    answer: type[serializers.Serializer[Any]],
    refusal: type[Problem],
) -> type[APIView]:
    """The view of a verb, which says of itself what the verb does."""

    @raises(refusal)
    @extend_schema(operation_id=operation, description=act.__doc__, tags=[tag], request=ReasonPost, responses=answer)
    def post(view: APIView, request: Request, **named: Any) -> Response:
        (key,) = named.values()
        find(request, key)
        act(key, by=operator_in(request))
        return Response(answer(find(request, key)).data)

    return type("VerbView", (APIView,), {"post": post})
