"""Events that were given up, under the keys that they had named for this case."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.functions import Now

from events.models import Event, Undelivered

MOST = 10_000  # of an application: beyond, the oldest are let go


@dataclass(frozen=True)
class GivenUp:
    """An event of which a delivery has used up its retries, or never can be delivered."""

    event: Event
    subscription_id: uuid.UUID
    reason: str


def keep(given_up: Iterable[GivenUp]) -> None:
    """Store these events under the keys that they name. Of several, the last one counts."""
    kept: dict[tuple[uuid.UUID, tuple[str, ...]], Undelivered] = {}
    for each in given_up:
        event = each.event
        for path in event.keys_if_undelivered or ():
            kept[event.application_id, tuple(path)] = Undelivered(
                application_id=event.application_id,
                path=path,
                event_id=event.event_id,
                event_type=event.event_type,
                payload=event.payload,
                payload_content_type=event.payload_content_type,
                subscription_id=each.subscription_id,
                reason=each.reason,
                stored_at=Now(),
            )
    if kept:
        Undelivered.objects.bulk_create(
            [kept[key] for key in sorted(kept)],
            update_conflicts=True,
            unique_fields=["application", "path"],
            update_fields=[
                "event_id", "event_type", "payload", "payload_content_type", "subscription", "reason", "stored_at",
            ],
        )  # fmt: skip
        for application_id in {application_id for application_id, _ in kept}:
            _let_go_beyond(application_id)


def _let_go_beyond(application_id: uuid.UUID) -> None:
    mine = Undelivered.objects.filter(application=application_id)
    beyond = mine.order_by("-stored_at", "-id").values("id")[MOST:]
    mine.filter(id__in=list(beyond.values_list("id", flat=True))).delete()


def under(kept: QuerySet[Undelivered], prefix: Sequence[str], *, is_last_whole: bool = True) -> QuerySet[Undelivered]:
    """What is kept under paths that begin so, which are neighbours in the index; the last word may be a beginning."""
    if not prefix:
        return kept
    # Bytes are compared: no word has the one character, and no character comes behind the other.
    behind = [*prefix[:-1], prefix[-1] + ("\x01" if is_last_whole else "\U0010ffff")]
    return kept.filter(path__gte=list(prefix), path__lt=behind)
