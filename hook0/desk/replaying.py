"""Past events once more, as a form: those of an application, for one of its subscriptions or for all."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from events import replays
from events.api.replays import ReplayPost
from tenants.fields import checked
from tenants.principal import Operator
from tenants.verbs import Reason


class Since(Reason):
    since = forms.ChoiceField(
        choices=[("1", "the last hour"), ("24", "the last 24 hours"), ("168", "the last 7 days")],
        widget=UnfoldAdminSelectWidget(),
    )
    status = forms.ChoiceField(
        label="What",
        choices=[("failed", "what was not delivered and does not wait"), ("all", "everything")],
        widget=UnfoldAdminSelectWidget(),
    )


def start_replay(
    application_id: uuid.UUID, fields: dict[str, Any], *, by: Operator, subscription_id: uuid.UUID | None = None
) -> str:
    """Begin what the form asks for, by the API's rules; what to tell."""
    since = datetime.now(UTC) - timedelta(hours=int(fields["since"]))
    wanted = checked(
        ReplayPost,
        {
            "application_id": str(application_id),
            "subscription_id": subscription_id and str(subscription_id),
            "since": since.isoformat(),
            "status": fields["status"],
        },
    )
    only_failed = wanted.pop("status") == "failed"
    wanted.pop("reason")
    replays.start(**wanted, only_failed=only_failed, by=by)
    return "The replay begins. See how far it is under Replays."
