"""What can be done to a subscription; each is the API's own function."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from delivery import lanes, reconfigure
from delivery.api.blocked_lanes import RetryBlockedPost
from delivery.api.signing_secrets import DAY_SECONDS, RotateSecretPost
from delivery.audit import Operator, record
from events.api.trials import TestPost, try_out
from hook0.desk.replaying import Since, start_replay
from subscriptions.models import Subscription
from tenants.fields import checked
from tenants.verbs import GoodReason, Reason, Shown, Verb
from tenants.written import indented


class Rotation(Reason):
    overlap_seconds = forms.IntegerField(
        min_value=0,
        initial=DAY_SECONDS,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="For how long the old secret signs along. 0: it is void at once.",
    )


class Spread(Reason):
    over_seconds = forms.FloatField(
        min_value=0,
        initial=0,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Spread them over so long, so that the endpoint is not trampled.",
    )


class Trial(forms.Form):
    event_type = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Empty: the first that the subscription lists by its full name.",
    )
    payload = forms.CharField(required=False, initial='{"test": true}', widget=UnfoldAdminTextareaWidget())


def _change(**fields: bool) -> Any:
    def run(subscription: Subscription, _: dict[str, Any], by: Operator) -> str:
        reconfigure.edit(subscription.pk, fields, by=by)
        return "Done."

    return run


def _rotate(subscription: Subscription, fields: dict[str, Any], by: Operator) -> Shown:
    overlap = checked(RotateSecretPost, fields)["overlap_seconds"]
    rotated = reconfigure.rotate_secret(subscription.pk, overlap_seconds=overlap, by=by)
    told = (
        f"The old secret signs along until {rotated.previous_secret_until:%F %H:%M} UTC."
        if overlap
        else "The old secret is void."
    )
    return Shown("tenants/secret.html", {"secret": rotated.secret, "told": told})


def _test(subscription: Subscription, fields: dict[str, Any], by: Operator) -> Shown:
    event_id, outcome = try_out(subscription, checked(TestPost, {k: v for k, v in fields.items() if v}))
    record(by, "test", subscription_id=subscription.pk, event_id=str(event_id))
    return Shown("hook0/tested.html", {"outcome": outcome, "body": indented(outcome.body)})


def _retry_blocked(subscription: Subscription, fields: dict[str, Any], by: Operator) -> str:
    over = checked(RetryBlockedPost, fields)["over_seconds"]
    return f"{lanes.retry_blocked(subscription.pk, over_seconds=over, by=by)} lanes go on."


def _replay(subscription: Subscription, fields: dict[str, Any], by: Operator) -> str:
    return start_replay(subscription.application_id, fields, by=by, subscription_id=subscription.pk)


def _delete(subscription: Subscription, fields: dict[str, Any], by: Operator) -> str:
    return f"It is gone, and {reconfigure.delete(subscription.pk, by=by)} deliveries with it."


VERBS = (
    Verb(
        "pause",
        "Pause",
        _change(is_paused=True),
        lambda _: "Nothing is sent and nothing is lost; it goes out, in order, when you resume.",
        offered=lambda row: not row.is_paused,
        icon="pause",
    ),
    Verb(
        "resume",
        "Resume",
        _change(is_paused=False),
        lambda _: "What has waited goes out now.",
        offered=lambda row: row.is_paused,
    ),
    Verb(
        "disable",
        "Disable",
        _change(is_enabled=False),
        lambda _: "No new deliveries are made from now on; existing ones complete.",
        offered=lambda row: row.is_enabled,
        icon="toggle_off",
        is_dangerous=True,
    ),
    Verb(
        "enable",
        "Enable",
        _change(is_enabled=True),
        lambda _: "Events that come in from now on are delivered. What it has missed can be replayed.",
        offered=lambda row: not row.is_enabled,
        icon="toggle_on",
    ),
    Verb(
        "test",
        "Send a test",
        _test,
        lambda row: f"A webhook goes to {row.url} now, past the queue, and you see the answer.",
        form=Trial,
        offered=lambda row: not row.pulls,
        icon="science",
    ),
    Verb(
        "retry_blocked",
        "Retry all blocked",
        _retry_blocked,
        lambda _: "The heads of all its blocked lanes are tried again.",
        form=Spread,
        offered=lambda row: row.fifo_mode,
        icon="replay",
    ),
    Verb(
        "replay",
        "Replay since",
        _replay,
        lambda _: "Past events are delivered again, in their order.",
        form=Since,
        icon="history",
    ),
    Verb(
        "rotate_secret",
        "Rotate secret",
        _rotate,
        lambda _: "It gets another signing secret, which is shown once.",
        form=Rotation,
        icon="autorenew",
    ),
    Verb(
        "delete",
        "Delete",
        _delete,
        lambda _: "It goes for good, with its lanes and all that waits for it.",
        form=GoodReason,
        icon="delete_forever",
        is_dangerous=True,
    ),
)
