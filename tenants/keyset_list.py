"""Lists of the admin without counting and without OFFSET."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.views import ChangeList

from tenants.pages import LastRow, cursor_at, read_cursor, rows_after, rows_until

AFTER, APPLICATION = "after", "application"


class KeysetList(ChangeList):
    """A list that nobody counts: a page begins behind the row that the one before ended with."""

    next_address = ""
    looked_at: int | None = None  # rows, when there are more that may be what is asked for

    def get_filters_params(self, params: Any = None) -> Any:
        wanted = super().get_filters_params(params)
        for ours in (AFTER, APPLICATION):
            wanted.pop(ours, None)
        return wanted

    def get_queryset(self, request: HttpRequest, *filters: Any, **more: Any) -> QuerySet[Any]:
        found: QuerySet[Any] = self.model_admin.narrow(request, super().get_queryset(request, *filters, **more))
        return found

    def get_results(self, request: HttpRequest) -> None:
        by = self.model_admin.order(request)
        cursor, edge = self.params.pop(AFTER, ""), None
        most = self.model_admin.looks_at(request)
        try:
            last = read_cursor(cursor, by) if cursor else None
            found = rows_after(self.queryset, by, last) if last else self.queryset
            if most and (edge := self._edge(request, by, last, most)):
                found = rows_until(found, by, edge)
            rows = list(found.order_by(*by)[: self.list_per_page + 1])
        except (ValueError, TypeError, ValidationError) as problem:
            raise IncorrectLookupParameters(problem) from None
        self.result_list = rows[: self.list_per_page]
        self.model_admin.enrich(request, self.result_list)
        self.result_count = self.full_result_count = len(self.result_list)
        self.can_show_all = self.multi_page = self.show_all = False
        self.paginator = self.model_admin.get_paginator(request, self.result_list, self.list_per_page)
        self.is_first = not cursor
        if len(rows) > self.list_per_page:
            self.next_address = self.get_query_string({AFTER: cursor_at(self.result_list[-1], by)})
        elif edge:
            self.next_address = self.get_query_string({AFTER: cursor_at(SimpleNamespace(**edge), by)})
            self.looked_at = most

    def _edge(self, request: HttpRequest, by: Sequence[str], last: LastRow | None, most: int) -> LastRow | None:
        """Where so many rows end, whatever is asked of them; None where there are fewer."""
        rows = self.model_admin.narrow(request, self.model._default_manager.all())
        rows = rows_after(rows, by, last) if last else rows
        fields = [field.lstrip("-") for field in by]
        return next(iter(rows.order_by(*by).values(*fields)[most - 1 : most]), None)
