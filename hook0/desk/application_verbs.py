"""What can be done to an application, beyond what `tenants` knows of."""

from typing import Any

from delivery import reconfigure
from hook0.desk.replaying import Since, start_replay
from tenants.api.applications import delete_application
from tenants.models import Application
from tenants.principal import Operator
from tenants.verbs import GoodReason, Verb


def _replay(application: Application, fields: dict[str, Any], by: Operator) -> str:
    return start_replay(application.pk, fields, by=by)


def _delete(application: Application, fields: dict[str, Any], by: Operator) -> str:
    dropped = delete_application(application.pk, delete_subscriptions=reconfigure.delete_all, by=by)
    return f"It is gone, with its subscriptions and {dropped} deliveries that waited."


VERBS = (
    Verb(
        "replay",
        "Replay since",
        _replay,
        lambda _: "Past events are delivered again, in their order, to all subscriptions that are enabled.",
        form=Since,
        icon="history",
    ),
    Verb(
        "delete",
        "Delete",
        _delete,
        lambda _: "Its secrets are void at once, and its subscriptions go for good, with all that waits for them.",
        form=GoodReason,
        icon="delete_forever",
        is_dangerous=True,
    ),
)
