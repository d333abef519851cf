"""Kinds of admin pages: what they show is the reader's organizations', in pages that an index serves."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import ForeignKey, Model, QuerySet
from django.forms import ModelChoiceField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from rest_framework.exceptions import APIException
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from tenants.audit import note
from tenants.cells import copyable, moment
from tenants.keyset_list import KeysetList
from tenants.principal import Operator
from tenants.staff import applications_of, choose_application, sees_all, visible_to
from tenants.verbs import Shown, Verb, complaint


class StaffAdmin(ModelAdmin):
    """Rows of the reader's organizations, with the verbs that may be said of them."""

    organization = ""  # the way from a row to its organization; none: for those alone who see all
    by: Sequence[str] = ("-pk",)
    verbs: Sequence[Verb] = ()
    nothing = "There is nothing here yet."  # and what to do about it
    sections_above: Sequence[str] = ()  # templates above the fields of one
    sections: Sequence[str] = ()  # and below

    change_list_template = "tenants/list.html"
    change_form_template = "tenants/one.html"
    list_per_page = 25  # a row takes some 5 ms to draw, more than it takes to find
    show_full_result_count = False
    sortable_by = ()
    list_disable_select_all = True
    actions: Any = ()
    list_filter_submit = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if self.organization:
            return visible_to(request.user, rows, self.organization)
        return rows if sees_all(request.user) else rows.none()

    def order(self, request: HttpRequest) -> Sequence[str]:
        """The fields that the list is ordered by, the last of them unique, none of them null."""
        return self.by

    def narrow(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """What of these the list is about."""
        return rows

    def looks_at(self, request: HttpRequest) -> int | None:
        """At how many rows a page looks for what is asked for; None where an index has it."""
        return None

    def enrich(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Find what is shown beside the rows of a page, all at once."""

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return KeysetList

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """So much hangs on a row that a click must not take it away."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action = f"{'change' if change else 'create'}_{self.opts.model_name}"
        note(Operator(request.user.get_username()), action, id=str(obj.pk), name=str(obj), changed=form.changed_data)

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Whether the reader may say the verbs, here or on a whole selection."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField | None:
        """Nobody is offered what they do not see."""
        theirs = self.admin_site.get_model_admin(db_field.remote_field.model)
        kwargs.setdefault("queryset", theirs.get_queryset(request))
        offered: ModelChoiceField | None = super().formfield_for_foreignkey(db_field, request, **kwargs)
        return offered

    # --- columns that many have

    @admin.display(description="id")
    def copy_id(self, row: Any) -> str:
        return copyable(row.pk)

    @admin.display(description="created")
    def created(self, row: Any) -> str:
        return moment(row.created_at)

    # --- verbs

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_verb"
        act = self.admin_site.admin_view(self.act)
        return [path("<path:object_id>/do/<slug:verb>/", act, name=name), *super().get_urls()]

    def address(self, row: Any) -> str:
        """Where a row's page is."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row.pk])

    def offered(self, request: HttpRequest, row: Any) -> list[Verb]:
        if row is None or not self.has_act_permission(request):
            return []
        return [verb for verb in self.verbs if verb.offered(row)]

    def act(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Ask first, and then do it."""
        row = self.get_object(request, unquote(object_id))
        said = next((each for each in self.verbs if each.name == verb), None)
        if row is None or said is None:
            raise Http404
        if not self.has_act_permission(request):
            raise PermissionDenied
        form = said.form(request.POST if request.method == "POST" else None)
        if form.is_valid():
            by = Operator(request.user.get_username(), form.cleaned_data.get("reason", ""))
            try:
                answer = said.run(row, form.cleaned_data, by)
            except APIException as problem:
                form.add_error(None, complaint(problem))
            else:
                self.log_change(request, row, f"{said.label}. {by.reason}".strip())
                if isinstance(answer, Shown):
                    shown = {"title": said.label, "row": row, "back": self._back(request, row), **answer.context}
                    return TemplateResponse(request, answer.template, self._context(request, shown))
                messages.success(request, answer)
                return HttpResponseRedirect(self._back(request, row))
        asked = {
            "title": f"{said.label}?", "verb": said, "row": row, "form": form, "explained": said.explain(row),
            "back": self._back(request, row),
        }  # fmt: skip
        return TemplateResponse(request, "tenants/verb.html", self._context(request, asked))

    def act_on_selected(self, request: HttpRequest, rows: Iterable[Any], verb: Verb) -> None:
        """A verb for each of a selection; what refuses is named, and the others go on."""
        done = 0
        for row in rows:
            try:
                verb.run(row, {}, Operator(request.user.get_username()))
            except APIException as problem:
                messages.warning(request, f"{row}: {complaint(problem)}")
            else:
                done += 1
        if done:
            messages.success(request, f"{verb.label}: done for {done}.")

    def _back(self, request: HttpRequest, row: Model) -> str:
        wanted = request.GET.get("next", "")
        if wanted and url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
            return wanted
        if self.get_queryset(request).filter(pk=row.pk).exists():
            return self.address(row)
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def _context(self, request: HttpRequest, more: dict[str, Any]) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "opts": self.opts, **more}

    # --- the page of one

    def facts(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the sections of a row's page show."""
        return {}

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        more: dict[str, Any] = {}
        if object_id and (row := self.get_object(request, unquote(object_id))) and request.method == "GET":
            more = {"verbs": self.offered(request, row), "row": row, **self.facts(request, row)}
        more |= {"sections": self.sections, "sections_above": self.sections_above}
        more |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().changeform_view(request, object_id, form_url, {**more, **(extra_context or {})})


class OfApplicationAdmin(StaffAdmin):
    """What is listed for one application at a time: there may be millions, and indexes begin with the application."""

    application = "application"  # the way from a row to its application
    list_before_template = "tenants/choose_application.html"

    def narrow(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(**{self.application: choose_application(request)})

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        more = {"applications": applications_of(request.user), "chosen": choose_application(request)}
        answer: HttpResponse = super().changelist_view(request, {**more, **(extra_context or {})})
        return answer


class ReadOnlyAdmin(StaffAdmin):
    """Rows that are moved by functions, never edited: nobody may add, change or delete them here."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False
