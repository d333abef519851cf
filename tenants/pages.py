"""Lists in pages. A cursor says where the page before ended, so what comes or goes meanwhile shifts nothing."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.fields import checked

Row = TypeVar("Row")
Found = TypeVar("Found", bound=Model)
LastRow = Mapping[str, Any]
Read = Callable[[LastRow | None, int], Sequence[Row]]

MOST = 1000


class PageQuery(serializers.Serializer[Any]):
    """What every list takes in its query string."""

    limit = serializers.IntegerField(min_value=1, max_value=MOST, required=False, help_text="Rows on a page.")
    pagination_cursor = serializers.CharField(
        required=False, help_text="Where to go on: from the `next` of the answer's `Link` header."
    )


class NamedQuery(serializers.Serializer[Any]):
    """What a list takes whose rows have names."""

    name = serializers.CharField(required=False, help_text="A part of the name, in whatever case.")


def named(request: Request, rows: "QuerySet[Found]") -> "QuerySet[Found]":
    """Those of them that the query string asks for."""
    name = checked(NamedQuery, request.query_params).get("name")
    return rows.filter(name__icontains=name) if name else rows


class Page(Generic[Row]):
    """Some rows of a list, and the address of the next page where there is one."""

    @overload
    def __init__(
        self: "Page[Found]", request: Request, found: QuerySet[Found], *, by: Sequence[str], size: int = MOST
    ) -> None: ...

    @overload
    def __init__(self, request: Request, found: Read[Row], *, by: Sequence[str], size: int = MOST) -> None: ...

    def __init__(self, request: Request, found: Any, *, by: Sequence[str], size: int = MOST) -> None:
        """`by` are fields as of `order_by`, the last of them unique, none of them null; an index should have them.

        What no QuerySet can find is read by a function, which is told the fields of the row before and how many.
        """
        query = checked(PageQuery, request.query_params)
        limit = query.get("limit", size)
        cursor = query.get("pagination_cursor")
        read = _reader(found, by) if isinstance(found, QuerySet) else found
        try:
            rows = list(read(read_cursor(cursor, by) if cursor else None, limit + 1))
        except (binascii.Error, ValueError, TypeError, ValidationError):
            if not cursor:
                raise
            raise serializers.ValidationError({"pagination_cursor": "This is not a cursor of this list."}) from None
        self.rows = rows[:limit]
        self._next = _next_address(request, self.rows[-1], by) if len(rows) > limit else None

    def answer(self, data: Any) -> Response:
        """The page as a response: `data` is what is shown of its rows."""
        return Response(data, headers={"Link": f'<{self._next}>; rel="next"'} if self._next else None)


def read_cursor(cursor: str, by: Sequence[str]) -> LastRow:
    """What a cursor says of the row that its page ended with."""
    values = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    return dict(zip((field.lstrip("-") for field in by), values, strict=True))


def _reader(found: QuerySet[Any], by: Sequence[str]) -> Read[Any]:
    def read(last: LastRow | None, count: int) -> Sequence[Any]:
        return list((rows_after(found, by, last) if last else found).order_by(*by)[:count])

    return read


def rows_after(found: QuerySet[Any], by: Sequence[str], last: LastRow) -> QuerySet[Any]:
    """The rows behind one. The first field is compared by itself as well: an index serves that."""
    behind = Q(pk__in=[])
    for field in reversed(by):
        value = last[field.lstrip("-")]
        behind = Q(**{_past(field): value}) | Q(**{field.lstrip("-"): value}) & behind
    return found.filter(Q(**{f"{_past(by[0])}e": last[by[0].lstrip("-")]}) & behind)


def rows_until(found: QuerySet[Any], by: Sequence[str], last: LastRow) -> QuerySet[Any]:
    """The rows up to one, which is the last of them."""
    before = Q()
    for field in reversed(by):
        value = last[field.lstrip("-")]
        same = Q(**{field.lstrip("-"): value})
        before = Q(**{_before(field): value}) | (same & before if before else same)
    return found.filter(Q(**{f"{_before(by[0])}e": last[by[0].lstrip("-")]}) & before)


def _before(field: str) -> str:
    return f"{field[1:]}__gt" if field.startswith("-") else f"{field}__lt"


def _past(field: str) -> str:
    return f"{field[1:]}__lt" if field.startswith("-") else f"{field}__gt"


def cursor_at(last: Any, by: Sequence[str]) -> str:
    """Where the page ends that has this row at its end."""
    values = [getattr(last, field.lstrip("-")) for field in by]
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode()


def _next_address(request: Request, last: Any, by: Sequence[str]) -> str:
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    query |= {"pagination_cursor": [cursor_at(last, by)]}
    return f"{settings.PUBLIC_URL}{request.path}?{urlencode(query, doseq=True)}"
