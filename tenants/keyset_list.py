"""Lists of the admin without counting and without OFFSET."""

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.views import ChangeList

from tenants.pages import cursor_at, read_cursor, rows_after

AFTER, APPLICATION = "after", "application"


class KeysetList(ChangeList):
    """A list that nobody counts: a page begins behind the row that the one before ended with."""

    next_address = ""

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
        found = self.queryset.order_by(*by)
        if cursor := self.params.pop(AFTER, ""):
            try:
                found = rows_after(self.queryset, by, read_cursor(cursor, by)).order_by(*by)
            except (ValueError, TypeError) as problem:
                raise IncorrectLookupParameters(problem) from None
        try:
            rows = list(found[: self.list_per_page + 1])
        except (ValueError, ValidationError) as problem:
            raise IncorrectLookupParameters(problem) from None
        self.result_list = rows[: self.list_per_page]
        self.model_admin.enrich(request, self.result_list)
        self.result_count = self.full_result_count = len(self.result_list)
        self.can_show_all = self.multi_page = self.show_all = False
        self.paginator = self.model_admin.get_paginator(request, self.result_list, self.list_per_page)
        self.is_first = not cursor
        if len(rows) > self.list_per_page:
            self.next_address = self.get_query_string({AFTER: cursor_at(self.result_list[-1], by)})
