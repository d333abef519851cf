"""Forms of the admin that let the API's own serializers say what will do."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.db.models import Model
from django.http import HttpRequest
from rest_framework import serializers
from rest_framework.exceptions import APIException
from unfold.widgets import UnfoldAdminTextareaWidget

from tenants.admin_pages import StaffAdmin
from tenants.fields import checked
from tenants.principal import Operator
from tenants.problems import Problem
from tenants.verbs import complaint, complaints


class Lines(forms.CharField):
    """A list, an entry on each line."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value


class Pairs(forms.CharField):
    """A map of strings, `name: value` on each line."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})

    def to_python(self, value: Any) -> Any:
        pairs = [line.partition(":") for line in (value or "").splitlines() if line.strip()]
        if wrong := [name for name, colon, _ in pairs if not colon]:
            raise forms.ValidationError(f"Each line must be `name: value`; {wrong[0][:60]!r} is not.")
        return {name.strip(): content.strip() for name, _, content in pairs}

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(f"{name}: {content}" for name, content in value.items()) if isinstance(value, dict) else value


class Json(forms.JSONField):
    """An object, or nothing."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 2})

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


class CheckedForm(forms.ModelForm):  # type: ignore[type-arg] # generic in its stubs alone
    """A form that is read as a body of the API, and carried out by the same function.

    That happens as it is checked: what the function refuses is shown where it was typed.
    """

    body: ClassVar[type[serializers.Serializer[Any]]]
    by: Operator
    saved: Model

    def as_body(self, given: dict[str, Any]) -> Mapping[str, Any]:
        """What a client of the API would send."""
        return given

    def carry_out(self, wanted: dict[str, Any]) -> Model:
        """Make or change the row."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.saved = self.carry_out(checked(self.body, self.as_body(given)))
            except APIException as problem:
                self._complain(problem)
        return given

    def _post_clean(self) -> None:
        """The API's checks are all there are."""

    def _complain(self, problem: APIException) -> None:
        if isinstance(problem, Problem):
            self.add_error(None, complaint(problem))
            return
        for name, text in complaints(problem.detail):
            known = name in self.fields
            self.add_error(name if known else None, text if known else f"{name}: {text}")


class CheckedAdmin(StaffAdmin):
    """Pages whose form is a `CheckedForm`."""

    def get_form(self, request: HttpRequest, *rest: Any, **more: Any) -> Any:
        form = super().get_form(request, *rest, **more)
        return type(form.__name__, (form,), {"by": Operator(request.user.get_username())})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form has done it."""
        obj.pk = form.saved.pk
        obj.refresh_from_db()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The form has done that, too."""
