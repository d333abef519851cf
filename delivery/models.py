"""The tables of the queue.

Rows are moved by the statements in `sql/` alone; the models are for reading, the admin and the migrations.
"""

from datetime import datetime

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from delivery.jobs.models import JobQueue as JobQueue
from delivery.jobs.models import StoredJob as StoredJob
from subscriptions.models import PUBLIC_POOL, Subscription
from tenants.models import Application


class Phase(models.IntegerChoices):
    """Where a lane stands; `docs/explanation/lanes.md` draws the machine."""

    EMPTY = 0
    WAITING = 1  # for `ready_at`: now, or the next retry
    RUNNING = 2  # the head is leased to a pump
    BLOCKED = 3  # the head has used up its retries and `fifo_on_exhausted` is block
    PAUSED = 4  # the lane by an operator, or its subscription


class Lane(models.Model):
    """The unit of order: the lock, the claim index, the allocator of numbers, the fence and the depth in one row.

    One row holds one lease, so a lane has one request in flight at most.
    """

    id = models.BigAutoField(primary_key=True)
    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="lanes", db_index=False)
    pool = models.IntegerField(db_default=PUBLIC_POOL, help_text="Who serves it, as the subscription's state says.")
    key = models.CharField(max_length=200, db_default="", help_text="What `fifo_key` names; empty: everything.")
    head_seq = models.BigIntegerField(db_default=1, help_text="The number to be acknowledged next.")
    tail_seq = models.BigIntegerField(db_default=0, help_text="The last number given out.")
    phase = models.SmallIntegerField(choices=Phase, db_default=Phase.EMPTY)
    is_paused = models.BooleanField(db_default=False, help_text="By an operator, for this lane alone.")
    ready_at = models.DateTimeField(null=True)
    epoch = models.BigIntegerField(db_default=0, help_text="The claim that may complete the head.")
    lease_until = models.DateTimeField(null=True)
    tries = models.SmallIntegerField(db_default=0, help_text="Of the head, the running one included.")
    since = models.DateTimeField(null=True, help_text="When the head first failed, or the lane was stopped.")
    announced_since = models.DateTimeField(null=True, help_text="The `since` of the last block that was announced.")
    current_request_attempt_id = models.UUIDField(null=True, help_text="The delivery that holds the lane back.")
    last_completed_event_created_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "fifo_subscription_state"
        indexes = [
            # claim_lanes.sql: index order is claim order
            models.Index(fields=["pool", "ready_at", "id"], name="lane_ready", condition=Q(phase=Phase.WAITING)),
            # reap_lanes.sql
            models.Index(fields=["lease_until"], name="lane_leased", condition=Q(phase=Phase.RUNNING)),
            # a snapshot of the metrics: nothing else than the lanes that hold something is read
            models.Index(fields=["subscription"], name="lane_paused", condition=Q(phase=Phase.PAUSED)),
            # retry_blocked.sql, and the list of blocked keys, longest first
            models.Index(fields=["subscription", "since", "id"], name="lane_blocked", condition=Q(phase=Phase.BLOCKED)),
            # events.announcements
            models.Index(
                fields=["since"],
                name="lane_unannounced",
                condition=Q(phase=Phase.BLOCKED) & (Q(announced_since=None) | ~Q(announced_since=F("since"))),
            ),
            # the admin's list of what is stuck, longest first; a lane that moves is not in it
            models.Index(fields=["since", "id"], name="lane_stuck", condition=Q(since__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["subscription", "key"], name="lane_once_per_key"),
            models.CheckConstraint(
                condition=Q(phase=Phase.PAUSED)
                | Q(phase=Phase.EMPTY, head_seq__gt=F("tail_seq"))
                | Q(phase__in=[Phase.WAITING, Phase.RUNNING, Phase.BLOCKED], head_seq__lte=F("tail_seq")),
                name="lane_is_empty_when_nothing_waits",
            ),
            models.CheckConstraint(condition=Q(head_seq__lte=F("tail_seq") + 1), name="lane_head_within_tail"),
            models.CheckConstraint(
                condition=Q(phase=Phase.WAITING, ready_at__isnull=False)
                | (~Q(phase=Phase.WAITING) & Q(ready_at__isnull=True)),
                name="lane_waits_for_a_time",
            ),
            models.CheckConstraint(
                condition=Q(phase=Phase.RUNNING, lease_until__isnull=False)
                | (~Q(phase=Phase.RUNNING) & Q(lease_until__isnull=True)),
                name="lane_runs_under_a_lease",
            ),
        ]

    @property
    def depth(self) -> int:
        """How many wait in it."""
        return self.tail_seq - self.head_seq + 1

    @property
    def blocked_since(self) -> datetime | None:
        return self.since if self.phase == Phase.BLOCKED else None

    def __str__(self) -> str:
        return f"{self.key or 'everything'} ({Phase(self.phase).label})"


class RequestAttempt(models.Model):
    """A delivery that is not finished: one event for one subscription.

    In a lane no try updates the row: the lane holds the lease and the tries of its head, which come on top of those
    that are here, from before somebody renewed its retries.
    """

    id = models.UUIDField(primary_key=True)
    event = models.ForeignKey("events.Event", models.DO_NOTHING, related_name="+", db_constraint=False)
    subscription = models.ForeignKey(
        Subscription, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    lane = models.ForeignKey(Lane, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False, null=True)
    lane_seq = models.BigIntegerField(null=True)
    priority = models.SmallIntegerField(db_default=100)
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    tries = models.SmallIntegerField(db_default=0)
    epoch = models.BigIntegerField(null=True)
    lease_until = models.DateTimeField(null=True)
    is_cancelled = models.BooleanField(db_default=False, help_text="It leaves when its turn comes, unsent.")

    class Meta:
        verbose_name, verbose_name_plural = "pending delivery", "pending deliveries"
        db_table = "request_attempt"
        indexes = [
            # take_attempts.sql: index order is claim order inside a subscription
            models.Index(
                "subscription",
                F("priority").desc(),
                "due_at",
                "id",
                name="attempt_claimable",
                condition=Q(lane=None, lease_until=None),
            ),
            # reap_attempts.sql
            models.Index(fields=["lease_until"], name="attempt_leased", condition=Q(lease_until__isnull=False)),
            # list_attempts.sql, newest first
            models.Index(fields=["subscription", "id"], name="attempt_by_age", condition=Q(lease_until=None)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["lane", "lane_seq"], name="attempt_once_per_number", condition=Q(lane__isnull=False)
            ),
            models.CheckConstraint(
                condition=Q(lane__isnull=True, lane_seq__isnull=True)
                | Q(lane__isnull=False, lane_seq__isnull=False, lease_until__isnull=True),
                name="attempt_in_a_lane_has_a_number_and_no_lease",
            ),
            models.CheckConstraint(
                condition=Q(lease_until__isnull=True, epoch__isnull=True)
                | Q(lease_until__isnull=False, epoch__isnull=False),
                name="attempt_has_an_epoch_with_its_lease",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class AttemptLog(models.Model):
    """A try that has ended. Append-only, partitioned by the day it ended; retention drops partitions."""

    id = models.UUIDField(primary_key=True)
    delivery_id = models.UUIDField()
    event = models.ForeignKey("events.Event", models.DO_NOTHING, related_name="+", db_constraint=False)
    subscription = models.ForeignKey(Subscription, models.DO_NOTHING, related_name="+", db_constraint=False)
    application = models.ForeignKey(Application, models.DO_NOTHING, related_name="+", db_constraint=False, null=True)
    lane_id = models.BigIntegerField(null=True)
    lane_seq = models.BigIntegerField(null=True)
    try_number = models.SmallIntegerField()
    succeeded = models.BooleanField()
    accepted = models.BooleanField(help_text="False: it ended after its lease and changed nothing.")
    error_name = models.CharField(max_length=32, null=True)
    http_status = models.SmallIntegerField(null=True)
    response_headers = models.JSONField(null=True)
    response_body = models.BinaryField(null=True)
    elapsed_ms = models.IntegerField(null=True)
    worker = models.CharField(max_length=100, null=True)
    created_at = models.DateTimeField(help_text="When the delivery was made.")
    due_at = models.DateTimeField()
    picked_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField()
    retry_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "request attempt"
        db_table = "attempt_log"  # made by the migration's SQL: Django knows no partitions

    def __str__(self) -> str:
        return str(self.id)


class AttemptProgress(models.Model):
    """How far a consumer that pulls says it has come with a try. Kept for a day."""

    id = models.UUIDField(primary_key=True, help_text="The request attempt's.")
    percent = models.SmallIntegerField(null=True)
    stage = models.CharField(max_length=200, null=True)
    events_count = models.BigIntegerField(null=True)
    reported_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "attempt_progress"
        indexes = [models.Index(fields=["reported_at"], name="attempt_progress_by_age")]  # delivery.progress.forget
        constraints = [
            models.CheckConstraint(condition=Q(percent__gte=0, percent__lte=100), name="percent_within_bounds")
        ]

    def __str__(self) -> str:
        percent = "" if self.percent is None else f"{self.percent} %"
        events = "" if self.events_count is None else f"{self.events_count} events"
        return ", ".join(part for part in (percent, self.stage, events) if part)


class Tally(models.Model):
    """How many tries of a subscription ended so, in ten minutes: what charts are made of. Kept for two days."""

    pk = models.CompositePrimaryKey("subscription_id", "slot", "succeeded", "latency")
    subscription = models.ForeignKey(
        Subscription, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    slot = models.DateTimeField(help_text="When the ten minutes began.")
    succeeded = models.BooleanField()
    latency = models.SmallIntegerField(help_text="Which of delivery.tallies.BOUNDS_MS it was below.")
    amount = models.BigIntegerField()

    class Meta:
        db_table = "attempt_tally"
        # the charts of all, the next round of count_tries.sql, and what is past its time
        indexes = [models.Index(fields=["slot"], name="attempt_tally_slot")]

    def __str__(self) -> str:
        return f"{self.subscription_id} at {self.slot}: {self.amount}"


class BacklogSample(models.Model):
    """What waited of a subscription at some moment of ten minutes: what charts are made of. Kept for two days."""

    pk = models.CompositePrimaryKey("subscription_id", "slot")
    subscription = models.ForeignKey(
        Subscription, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    slot = models.DateTimeField(help_text="When the ten minutes began.")
    amount = models.IntegerField(help_text="Up to delivery.backlog.MOST_COUNTED.")
    age_seconds = models.IntegerField(help_text="Of the oldest.")

    class Meta:
        db_table = "backlog_sample"
        # the charts of all, whether a slot was sampled, and what is past its time
        indexes = [models.Index(fields=["slot"], name="backlog_sample_slot")]

    def __str__(self) -> str:
        return f"{self.subscription_id} at {self.slot}: {self.amount}"


class DeadLetter(models.Model):
    """A delivery that was given up, on the record."""

    class Reason(models.TextChoices):
        EXHAUSTED = "exhausted", "All retries have failed"
        GONE = "gone", "The target answered 410 Gone"
        FORBIDDEN = "forbidden", "The target is an address that webhooks must not reach"
        SKIPPED = "skipped", "An operator skipped it"

    id = models.UUIDField(primary_key=True, help_text="The delivery's.")
    event = models.ForeignKey("events.Event", models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="dead_letters", db_index=False)
    lane_id = models.BigIntegerField(null=True)
    lane_seq = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=16, choices=Reason)
    tries = models.SmallIntegerField()
    last_error = models.CharField(max_length=32, null=True)
    last_http_status = models.SmallIntegerField(null=True)
    created_at = models.DateTimeField(help_text="When the delivery was made.")
    died_at = models.DateTimeField(db_default=Now())
    is_announced = models.BooleanField(db_default=False)

    class Meta:
        db_table = "dead_letter"
        indexes = [
            # events.announcements
            models.Index(fields=["died_at", "id"], name="dead_letter_unannounced", condition=Q(is_announced=False)),
            models.Index(fields=["subscription", "-died_at", "-id"], name="dead_letter_by_age"),
            # delete_events.sql: an event is kept for as long as a dead letter needs it
            models.Index(fields=["event"], name="dead_letter_event"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=["exhausted", "gone", "forbidden", "skipped"]),
                name="dead_letter_reason_is_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.id}: {self.reason}"


class OperatorAction(models.Model):
    """What somebody did to the queue, and why. Append-only."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=32)
    reason = models.CharField(max_length=500, blank=True)
    application_id = models.UUIDField(null=True, help_text="Empty for what is done to an organization.")
    subscription_id = models.UUIDField(null=True)
    lane_id = models.BigIntegerField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        db_table = "operator_action"
        indexes = [
            models.Index(fields=["subscription_id", "-at", "-id"], name="operator_action_by_age"),
            models.Index(fields=["application_id", "-at", "-id"], name="operator_action_of_application"),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"


class RunningPump(models.Model):
    """A process that delivers, and when it gave its last sign of life."""

    process = models.CharField(max_length=100, primary_key=True)
    worker = models.CharField(max_length=50, null=True, help_text="As which worker; empty: for everybody.")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "running_pump"

    def __str__(self) -> str:
        return self.process


class PumpBeacon(models.Model):
    """One row that says until when some pump is sure to look for work: nobody needs to ring before."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    awake_until = models.DateTimeField()

    class Meta:
        db_table = "pump_beacon"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="pump_beacon_is_one_row")]

    def __str__(self) -> str:
        return f"awake until {self.awake_until}"
