"""The admin's site: what is its own besides the pages of the rows."""

import time
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.sites import UnfoldAdminSite

from hook0.desk.home import look
from hook0.desk.search import find


class Site(UnfoldAdminSite):
    index_template = "hook0/home.html"
    index_title = "Home"

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        answer: TemplateResponse = super().index(request, {"look": look(request.user), **(extra_context or {})})
        return answer

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """By id or by name, in what the reader sees, and as it is now."""
        term = request.GET.get("s", "").strip()
        if not term:
            return HttpResponse()
        began = time.monotonic()
        found = find(request.user, term)
        context = {
            "page_obj": Paginator(found, len(found) or 1), "results": found, "page_counter": 0,
            "execution_time": time.monotonic() - began, "command_show_history": False,
        }  # fmt: skip
        headers = {"HX-Trigger": "search"}
        return TemplateResponse(request, "unfold/helpers/command_results.html", context, headers=headers)
