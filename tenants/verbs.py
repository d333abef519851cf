"""What can be done to a row of the admin: one function of ours for each, never an edit of the row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from rest_framework.exceptions import APIException
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from tenants.principal import Operator
from tenants.problems import Problem


class Reason(forms.Form):
    reason = forms.CharField(
        max_length=500,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="It goes on the record, with your name.",
    )


class GoodReason(Reason):
    """For what cannot be undone."""

    reason = forms.CharField(
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Why? It goes on the record, with your name.",
    )


class Named(forms.Form):
    name = forms.CharField(
        max_length=50, widget=UnfoldAdminTextInputWidget(), help_text="Who uses it? It is told by this on the record."
    )


@dataclass(frozen=True)
class Shown:
    """An answer that is a page of its own, like a secret: it is not kept, and not shown again."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verb:
    """`run` is told the row, what the form says and who acts; it answers what to tell them."""

    name: str
    label: str
    run: Callable[[Any, dict[str, Any], Operator], str | Shown]
    explain: Callable[[Any], str]
    form: type[forms.Form] = Reason
    offered: Callable[[Any], bool] = lambda _: True
    icon: str = "play_arrow"
    is_dangerous: bool = False


def complaint(problem: APIException) -> str:
    """A refusal of the API, as a person reads it."""
    if isinstance(problem, Problem):
        return str(problem.detail)
    return " ".join(f"{name}: {text}" for name, text in complaints(problem.detail))


def complaints(detail: Any, name: str = "") -> list[tuple[str, str]]:
    """The texts of a serializer's errors, each with the name of its field."""
    if isinstance(detail, Mapping):
        return [each for key, value in detail.items() for each in complaints(value, name or str(key))]
    if isinstance(detail, list):
        return [each for value in detail for each in complaints(value, name)]
    return [(name, str(detail))]
