"""Search everywhere: an id, or a part of a name, among what the reader sees."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.urls import reverse

from delivery.attempt_ids import delivery_id_of, made_at
from delivery.attempts import ROUNDED
from delivery.heads import lanes_of_key
from delivery.jobs.models import StoredJob
from delivery.models import AttemptLog, DeadLetter, JobQueue, RequestAttempt
from events.models import BulkLoad, Event, Replay, Undelivered
from events.undelivered import under
from subscriptions.models import Subscription, Worker
from tenants.models import Application, EventType, Organization
from tenants.staff import may_see, read_uuid, visible_to

MOST = 8  # of a kind


@dataclass(frozen=True)
class Result:
    title: str
    description: str
    link: str
    icon: str


def find(user: User | AnonymousUser, term: str) -> list[Result]:
    """What has this id, or a name like this."""
    wanted = read_uuid(term)
    return [
        Result(
            str(row),
            row._meta.verbose_name or "",
            reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk]),
            "data_object",
        )
        for rows, organization in (_by_id(wanted) if wanted else _by_name(term))
        if may_see(user, rows.model)
        for row in visible_to(user, rows, organization)[:MOST]
    ]


def _by_id(wanted: uuid.UUID) -> Iterator[tuple[QuerySet[Any], str]]:
    delivery = delivery_id_of(wanted)
    yield Subscription.objects.filter(pk=wanted, deleted_at=None), "application__organization"
    yield Application.objects.filter(pk=wanted, deleted_at=None), "organization"
    yield Organization.objects.filter(pk=wanted), "pk"
    applications = Application.objects.values("pk")  # event_once_per_application begins with them
    events = Event.objects.filter(event_id=wanted, application__in=applications)
    yield events.defer("payload"), "application__organization"
    yield RequestAttempt.objects.filter(pk=delivery), "subscription__application__organization"
    ended = AttemptLog.objects.filter(pk=wanted, ended_at__gte=made_at(wanted) - ROUNDED)
    yield ended, "application__organization"
    yield DeadLetter.objects.filter(pk=delivery), "subscription__application__organization"
    yield Replay.objects.filter(pk=wanted), "application__organization"
    yield BulkLoad.objects.filter(pk=wanted), "application__organization"
    yield JobQueue.objects.filter(pk=wanted), "application__organization"
    yield _jobs(str(wanted))


def _by_name(term: str) -> Iterator[tuple[QuerySet[Any], str]]:
    named = Q(description__icontains=term) | Q(url__icontains=term)
    yield Subscription.objects.filter(named, deleted_at=None), "application__organization"
    yield Application.objects.filter(name__icontains=term, deleted_at=None), "organization"
    yield Organization.objects.filter(name__icontains=term), "pk"
    yield EventType.objects.filter(name__icontains=term, application__deleted_at=None), "application__organization"
    yield lanes_of_key(term), "subscription__application__organization"
    yield JobQueue.objects.filter(name__icontains=term), "application__organization"
    yield _jobs(term)
    applications = Application.objects.values("pk")  # undelivered_once_per_path begins with them
    kept = under(Undelivered.objects.filter(application__in=applications), term.split("/"), is_last_whole=False)
    yield kept.defer("payload").order_by("path"), "application__organization"
    workers = Worker.objects.filter(name__icontains=term)
    yield workers.distinct(), "organization_links__organization"


def _jobs(job_id: str) -> tuple[QuerySet[Any], str]:
    queues = JobQueue.objects.values("pk")  # job_once_per_id begins with them
    jobs = StoredJob.objects.filter(job_id=job_id, queue__in=queues)
    return jobs.defer("definition", "result"), "queue__application__organization"
