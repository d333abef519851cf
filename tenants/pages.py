"""Lists in pages. A cursor says where the page before ended, so what comes or goes meanwhile shifts nothing."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

Row = TypeVar("Row", bound=Model)

MOST = 1000


class PageQuery(serializers.Serializer[Any]):
    """What every list takes in its query string."""

    limit = serializers.IntegerField(min_value=1, max_value=MOST, required=False, help_text="Rows on a page.")
    pagination_cursor = serializers.CharField(
        required=False, help_text="Where to go on: from the `next` of the answer's `Link` header."
    )


class Page(Generic[Row]):
    """Some rows of a list, and the address of the next page where there is one."""

    def __init__(self, request: Request, found: QuerySet[Row], *, by: Sequence[str], size: int = MOST) -> None:
        """`by` are fields as of `order_by`, the last of them unique, none of them null; an index should have them."""
        query = PageQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        limit = query.validated_data.get("limit", size)
        if cursor := query.validated_data.get("pagination_cursor"):
            found = _after(found, by, cursor)
        rows = list(found.order_by(*by)[: limit + 1])
        self.rows = rows[:limit]
        self._next = _next_address(request, self.rows[-1], by) if len(rows) > limit else None

    def answer(self, data: Any) -> Response:
        """The page as a response: `data` is what is shown of its rows."""
        return Response(data, headers={"Link": f'<{self._next}>; rel="next"'} if self._next else None)


def _after(found: QuerySet[Row], by: Sequence[str], cursor: str) -> QuerySet[Row]:
    """The rows behind a cursor. The first field is compared by itself as well: an index serves that."""
    try:
        values = dict(zip(by, orjson.loads(base64.urlsafe_b64decode(cursor.encode())), strict=True))
        behind = Q(pk__in=[])
        for field in reversed(by):
            behind = Q(**{_past(field): values[field]}) | Q(**{field.lstrip("-"): values[field]}) & behind
        return found.filter(Q(**{f"{_past(by[0])}e": values[by[0]]}) & behind)
    except (binascii.Error, ValueError, TypeError, ValidationError):
        raise serializers.ValidationError({"pagination_cursor": "This is not a cursor of this list."}) from None


def _past(field: str) -> str:
    return f"{field[1:]}__lt" if field.startswith("-") else f"{field}__gt"


def _next_address(request: Request, last: Model, by: Sequence[str]) -> str:
    values = [getattr(last, field.lstrip("-")) for field in by]
    cursor = base64.urlsafe_b64encode(orjson.dumps(values)).decode()
    query = {name: request.query_params.getlist(name) for name in request.query_params} | {"pagination_cursor": cursor}
    return f"{settings.PUBLIC_URL}{request.path}?{urlencode(query, doseq=True)}"
