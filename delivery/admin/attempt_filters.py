"""What the list of attempts is narrowed by: the query string of the API, as a form."""

import uuid
from typing import Any

from django import forms
from django.http import QueryDict
from rest_framework.exceptions import APIException
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from delivery.api.request_attempts import AttemptsQuery
from delivery.attempts import ENDED, PENDING
from delivery.outcome import ERRORS
from subscriptions.models import Subscription
from tenants.fields import checked
from tenants.verbs import complaints

MOST_SUBSCRIPTIONS = 500
ANY = ("", "any")
STATES = [*sorted(ENDED), *sorted(PENDING)]


class AttemptFilters(forms.Form):
    status = forms.ChoiceField(
        choices=[ANY, *((each, each.replace("_", " ")) for each in STATES), (",".join(sorted(PENDING)), "not ended")],
        widget=UnfoldAdminSelectWidget(),
    )
    subscription_id = forms.ChoiceField(label="Subscription", widget=UnfoldAdminSelectWidget())
    event_type = forms.CharField(widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "billing.*"}))
    labels = forms.CharField(widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "shop:7, region:eu"}))
    error_name = forms.ChoiceField(
        label="Error", choices=[ANY, *((each, each) for each in ERRORS)], widget=UnfoldAdminSelectWidget()
    )
    http_status = forms.CharField(label="HTTP status", widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "503"}))
    event_id = forms.CharField(label="Event id", widget=UnfoldAdminTextInputWidget())
    lane_id = forms.CharField(label="Lane", widget=UnfoldAdminTextInputWidget())
    delivery_id = forms.CharField(label="Delivery id", widget=UnfoldAdminTextInputWidget())
    min_created_at = forms.CharField(
        label="Since", widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "2026-01-31T12:00Z"})
    )
    max_created_at = forms.CharField(label="Until", widget=UnfoldAdminTextInputWidget())

    wanted: dict[str, Any]

    def __init__(self, given: Any, *, application_id: uuid.UUID | None) -> None:
        super().__init__(given)
        theirs = Subscription.objects.filter(application=application_id, deleted_at=None).order_by("created_at")
        known = theirs.only("id", "description", "url")[:MOST_SUBSCRIPTIONS] if application_id else ()
        choices = [ANY, *((str(each.pk), str(each)) for each in known)]
        asked = given.get("subscription_id", "")
        if asked not in dict(choices):
            choices.append((asked, asked))
        self.fields["subscription_id"].choices = choices  # type: ignore[attr-defined]
        self.fields["status"].choices += [(each, each) for each in [given.get("status", "")] if "," in each]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.required = False

    @property
    def is_used(self) -> bool:
        return any(self.data.get(name) for name in self.fields)

    def clean(self) -> dict[str, Any]:
        given = {name: value for name, value in self.cleaned_data.items() if value}
        if "event_type" in given:
            given["event.event_type_names"] = given.pop("event_type")
        query = QueryDict(mutable=True)  # in which everything is text
        query.setlist("labels", [each.strip() for each in given.pop("labels", "").split(",") if each.strip()])
        query.update({**given, "application_id": str(uuid.UUID(int=0))})
        try:
            self.wanted = checked(AttemptsQuery, query)
        except APIException as problem:
            for name, text in complaints(problem.detail):
                self.add_error(name if name in self.fields else None, text)
        return self.cleaned_data
