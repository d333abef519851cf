"""A subscription as a form: it explains what FIFO costs, and is checked and carried out as the API does it."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import F, Model, Sum
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from delivery.models import Lane
from delivery.reconfigure import edit
from subscriptions.api.serializers import SubscriptionPost
from subscriptions.api.views import as_columns
from subscriptions.configure import create_subscription
from subscriptions.models import Subscription
from subscriptions.warnings import warnings_about
from tenants.checked_forms import CheckedForm, Json, Lines, Pairs

SAME = (
    "is_enabled", "is_paused", "event_types", "labels", "metadata", "description", "fifo_mode", "fifo_on_exhausted",
    "retry_policy", "timeout_ms", "max_in_flight", "rate_limit", "disable_after_hours",
)  # fmt: skip
TARGETS = {"http": ("method", "url", "headers"), "pull": ("lease_seconds",)}
TARGET = ("target_type", *TARGETS["http"], *TARGETS["pull"])


class SubscriptionForm(CheckedForm):
    body = SubscriptionPost
    warnings: Sequence[str]

    event_types = Lines(help_text="One on each line: billing.invoice.paid, or billing.* for all that start so.")
    labels = Pairs(help_text="key: value, one on each line. An event must carry all of them, and may carry more.")
    url = forms.CharField(label="URL", required=False, widget=UnfoldAdminTextInputWidget())
    retry_policy = Json(
        required=False,
        help_text="Empty: the usual retries. Or numbers in place of the usual, or a schedule: "
        '{"max_fast_retries": 5, "max_slow_retries": 10}, {"schedule_ms": [1000, 60000]}.',
    )
    rate_limit = Json(
        required=False,
        help_text='{"requests": 10, "per_seconds": 1}: so many at most, over any such while. Empty: no limit.',
    )
    headers = Pairs(required=False, help_text="name: value, one on each line. Sent with every webhook.")
    metadata = Pairs(required=False, help_text="key: value, one on each line. For you alone.")
    fifo_key = forms.CharField(
        label="FIFO key",
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text="What splits the order into independent lanes: event_type, ordering_key or label:NAME. "
        "Empty: one lane for everything. A failing event holds back its own lane only.",
    )

    gives_up_order = forms.BooleanField(
        label="Give up the order of what waits",
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
        help_text="Asked for only when FIFO is switched off while deliveries wait in order.",
    )

    class Meta:
        model = Subscription
        labels = {"fifo_on_exhausted": "When retries are used up", "is_enabled": "Enabled", "is_paused": "Paused"}
        fields = ("application", *SAME, *TARGET, "fifo_key", "dedicated_workers")

    def as_body(self, given: dict[str, Any]) -> dict[str, Any]:
        application = given.get("application") or self.instance.application
        return {
            **{name: given[name] for name in SAME},
            "application_id": str(application.pk),
            "description": given["description"] or None,
            "target": {"type": given["target_type"], **{name: given[name] for name in TARGETS[given["target_type"]]}},
            "fifo_key": given["fifo_key"] or None,
            "dedicated_workers": [worker.name for worker in given["dedicated_workers"]] or None,
        }

    def clean(self) -> dict[str, Any]:
        """Whoever switches FIFO off is told first what that does to what waits."""
        given = self.cleaned_data
        if self.instance.fifo_mode and not given.get("fifo_mode") and not given["gives_up_order"]:
            lanes = Lane.objects.filter(subscription=self.instance.pk)
            waiting = lanes.aggregate(waiting=Sum(F("tail_seq") - F("head_seq") + 1))["waiting"]
            if waiting:
                told = f"{waiting} deliveries wait in order, and are sent in any order then. Tick this to go on."
                self.add_error("gives_up_order", told)
        return super().clean()

    def carry_out(self, wanted: dict[str, Any]) -> Model:
        columns, moved = as_columns(wanted), 0
        if self.instance._state.adding:
            saved = create_subscription(**columns, by=self.by)
        else:
            columns.pop("application_id")
            moved = edit(self.instance.pk, columns, by=self.by)
            saved = Subscription.objects.get(pk=self.instance.pk)
        self.warnings = [warning.message for warning in warnings_about(saved, moved=moved)]
        return saved
