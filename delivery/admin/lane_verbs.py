"""What can be done to a lane; each is a verb of `delivery.lanes`."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from delivery import lanes
from delivery.audit import Operator
from delivery.models import Lane, Phase
from tenants.verbs import GoodReason, Verb


class SkipTo(GoodReason):
    number = forms.IntegerField(
        min_value=1, widget=UnfoldAdminIntegerFieldWidget(), help_text="The first that is not skipped."
    )


def _retry(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    lanes.retry_head(lane.pk, by=by)
    return "The head is tried now."


def _skip(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    lanes.skip_head(lane.pk, by=by)
    return "The head is skipped. It is kept as a dead letter."


def _skip_to(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    skipped = lanes.skip_to(lane.pk, fields["number"], by=by)
    return f"{skipped} are skipped. They are kept as dead letters."


def _pause(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    lanes.pause(lane.pk, by=by)
    return "The lane is paused."


def _resume(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    lanes.resume(lane.pk, by=by)
    return "The lane goes on."


def _reset(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    lanes.reset(lane.pk, by=by)
    return "The lane is free, and its head is sent again."


def _purge(lane: Lane, fields: dict[str, Any], by: Operator) -> str:
    return f"{lanes.purge(lane.pk, by=by)} deliveries are thrown away."


RETRY = Verb(
    "retry",
    "Retry the head",
    _retry,
    lambda _: "The head is tried at once, with all its retries before it again. A blocked lane goes on.",
    offered=lambda lane: lane.depth > 0 and lane.phase != Phase.RUNNING,
    icon="replay",
)
SKIP = Verb(
    "skip",
    "Skip the head",
    _skip,
    lambda _: "The head is given up and kept as a dead letter; the next one is sent.",
    form=GoodReason,
    offered=lambda lane: lane.depth > 0,
    icon="skip_next",
    is_dangerous=True,
)
SKIP_TO = Verb(
    "skip_to",
    "Skip to",
    _skip_to,
    lambda lane: (
        f"All before a number is given up and kept as dead letters. The head is {lane.head_seq}, "
        f"the last {lane.tail_seq}; {lane.tail_seq + 1} skips everything."
    ),
    form=SkipTo,
    offered=lambda lane: lane.depth > 0,
    icon="fast_forward",
    is_dangerous=True,
)
PAUSE = Verb(
    "pause",
    "Pause",
    _pause,
    lambda _: "Nothing is sent after the request in flight, and nothing is lost.",
    offered=lambda lane: not lane.is_paused,
    icon="pause",
)
RESUME = Verb(
    "resume",
    "Resume",
    _resume,
    lambda _: "It goes on where it stopped. A lane that was blocked before stays blocked.",
    offered=lambda lane: lane.is_paused,
)
RESET = Verb(
    "reset",
    "Reset",
    _reset,
    lambda _: "Whatever holds the lane lets go: lease, block, pause and tries. A request in flight may repeat.",
    offered=lambda lane: lane.depth > 0,
    icon="restart_alt",
    is_dangerous=True,
)
PURGE = Verb(
    "purge",
    "Purge",
    _purge,
    lambda lane: f"{lane.depth} deliveries that wait here are thrown away for good. Nothing is kept of them.",
    form=GoodReason,
    offered=lambda lane: lane.depth > 0,
    icon="delete_forever",
    is_dangerous=True,
)
VERBS = (RETRY, SKIP, SKIP_TO, PAUSE, RESUME, RESET, PURGE)
