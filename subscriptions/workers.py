"""Who sends a subscription's webhooks: everybody, or workers that are dedicated to it or to its organization."""

import uuid
import zlib
from collections.abc import Iterable, Sequence

from django.db.models import Q
from rest_framework.exceptions import ValidationError

from subscriptions.models import PUBLIC_POOL, OrganizationWorker, Subscription, Worker, WorkerPool
from subscriptions.problems import UnauthorizedWorkers
from tenants.models import Organization


def find_workers(organization_id: uuid.UUID, names: Sequence[str]) -> list[Worker]:
    """The workers of these names, if this organization may use them all."""
    allowed = Worker.objects.filter(Q(is_public=True) | Q(organizations=organization_id), name__in=names).distinct()
    if unknown := set(names) - {worker.name for worker in allowed}:
        raise UnauthorizedWorkers(f"The organization may not use, or there is no: {', '.join(sorted(unknown))}.")
    return list(allowed)


def pool_of(subscription: Subscription, *, fifo_mode: bool) -> int:
    """The pool that serves it: its dedicated workers, else its organization's default, else everybody.

    One whose consumers pull has a pool of its own, which no pump serves. (Two may share one; whoever asks for the pool
    asks for the subscription, too.)
    """
    if subscription.pulls:
        return -1 - (zlib.crc32(subscription.id.bytes) & 0x7FFFFFFF)
    dedicated = list(subscription.dedicated_workers.all())
    if fifo_mode and len(dedicated) > 1:
        raise ValidationError({"dedicated_workers": "A FIFO subscription has one dedicated worker at most."})
    return _pool(dedicated or _defaults(subscription.application.organization_id))


def lock_defaults(organization_id: uuid.UUID) -> None:
    """Until the end of the transaction, nobody else chooses a default, or makes a subscription that would follow it."""
    Organization.objects.select_for_update(no_key=True).get(id=organization_id)


def _defaults(organization_id: uuid.UUID) -> list[Worker]:
    return [
        link.worker
        for link in OrganizationWorker.objects.filter(organization=organization_id, is_default=True).select_related(
            "worker"
        )
    ]


def _pool(workers: Iterable[Worker]) -> int:
    ids = sorted(worker.pk for worker in workers)
    return WorkerPool.objects.get_or_create(workers=ids)[0].pk if ids else PUBLIC_POOL
