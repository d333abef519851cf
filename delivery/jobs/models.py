"""The tables of the job queue. Jobs are moved by the statements in `sql/` alone."""

from dataclasses import fields

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from delivery.jobs import limits
from delivery.jobs.job import Job
from delivery.jobs.states import ASSIGNED, ELIGIBLE, FINAL, HOLDING, State
from tenants.ids import new_id
from tenants.models import Application


def _named(*states: State) -> list[str]:
    return [state.value for state in states]


class JobQueue(models.Model):
    """A queue of jobs, by its name within an application."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="job_queues", db_index=False)
    name = models.CharField(max_length=limits.QUEUE_NAME_CHARACTERS)
    is_fifo = models.BooleanField(db_default=False, help_text="Every job has a key; of each key there runs one.")
    lease_seconds = models.IntegerField(null=True, help_text="How long a worker may be silent; none: for ever.")
    retry_limit = models.IntegerField(null=True, help_text="Of jobs that name none of their own; none: no limit.")
    retention_seconds = models.IntegerField(null=True, help_text="How long completed jobs are kept; none: for ever.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "job_queue"
        constraints = [models.UniqueConstraint(fields=["application", "name"], name="job_queue_once_per_application")]

    def __str__(self) -> str:
        return self.name


class StoredJob(models.Model):
    """A job: one row is the whole truth of it. `delivery.jobs.job` says what the columns mean."""

    id = models.BigAutoField(primary_key=True)
    queue = models.ForeignKey(JobQueue, models.CASCADE, related_name="jobs", db_index=False)
    job_id = models.CharField(max_length=limits.ID_CHARACTERS, help_text="The caller's.")
    status = models.CharField(max_length=16, choices=[(each.value, each.value) for each in State])
    type = models.CharField(max_length=limits.TYPE_CHARACTERS)
    definition = models.BinaryField()
    tags = ArrayField(models.TextField())
    key = models.CharField(max_length=limits.KEY_CHARACTERS, null=True, help_text="In a FIFO queue.")
    has_turn = models.BooleanField(help_text="False: it waits behind another job of its key.")
    priority = models.SmallIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finalized_at = models.DateTimeField(null=True)
    last_retry_at = models.DateTimeField(null=True)
    assigned_at = models.DateTimeField(null=True)
    assignee = models.CharField(max_length=limits.ASSIGNEE_CHARACTERS, null=True)
    stream = models.UUIDField(null=True, help_text="In which it holds a place.")
    lease_until = models.DateTimeField(null=True)
    retry_count = models.IntegerField(db_default=0)
    retry_limit = models.IntegerField(null=True)
    error = models.TextField(null=True)
    result = models.BinaryField(null=True)
    percent = models.SmallIntegerField(db_default=0)
    stage = models.CharField(max_length=limits.STAGE_CHARACTERS, null=True)
    events_count = models.IntegerField(db_default=0)

    class Meta:
        verbose_name = "job"
        db_table = "job"
        indexes = [
            # claim.sql: index order is claim order
            models.Index(
                "queue",
                F("priority").desc(),
                Coalesce("last_retry_at", "created_at"),
                "id",
                name="job_claimable",
                condition=Q(status__in=_named(*ELIGIBLE), has_turn=True),
            ),
            # promote.sql
            models.Index(
                fields=["queue", "key", "id"],
                name="job_waits_for_its_turn",
                condition=Q(status="INITIAL_PENDING", has_turn=False),
            ),
            # who looks for all tags
            GinIndex(fields=["tags"], name="job_tags"),
            # claim_tagged.sql
            GinIndex(
                fields=["tags"],
                name="job_tags_claimable",
                condition=Q(status__in=_named(*ELIGIBLE), has_turn=True),
            ),
            # what a worker has, and all that is assigned
            models.Index(fields=["queue", "assignee"], name="job_assigned", condition=Q(status__in=_named(*ASSIGNED))),
            # claim.sql: the places of a stream that are taken
            models.Index(fields=["stream"], name="job_in_stream", condition=Q(stream__isnull=False)),
            # delivery.jobs.maintenance
            models.Index(fields=["lease_until"], name="job_leased", condition=Q(lease_until__isnull=False)),
            models.Index(
                fields=["queue", "finalized_at"], name="job_completed", condition=Q(status=State.COMPLETED.value)
            ),
            # lists, newest first; blocked keys; the metrics
            models.Index(fields=["queue", "id"], name="job_by_age"),
            models.Index(fields=["queue", "status", "id"], name="job_by_state"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["queue", "job_id"], name="job_once_per_id"),
            models.UniqueConstraint(
                fields=["queue", "key"],
                name="job_one_at_a_time_per_key",
                condition=Q(key__isnull=False, has_turn=True) & ~Q(status__in=_named(*FINAL)),
            ),
            models.CheckConstraint(condition=Q(status__in=_named(*State)), name="job_state_is_known"),
            models.CheckConstraint(
                condition=Q(has_turn=True) | Q(key__isnull=False) & ~Q(status__in=_named(*HOLDING)),
                name="job_is_assigned_in_its_turn",
            ),
            models.CheckConstraint(
                condition=Q(lease_until=None) | Q(status__in=_named(*ASSIGNED)), name="job_is_leased_while_assigned"
            ),
        ]

    def __str__(self) -> str:
        return self.job_id


def as_job(row: StoredJob) -> Job:
    """What everybody else sees of a row."""
    values = {field.name: getattr(row, field.name) for field in fields(Job)} | {"id": row.job_id}
    return Job(**values)
