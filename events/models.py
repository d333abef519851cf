import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from delivery.models import DeadLetter
from subscriptions.models import Subscription
from tenants.ids import new_id
from tenants.models import Application


class Event(models.Model):
    """What happened, as the application said it. Never changed; the payload is kept byte for byte."""

    id = models.BigAutoField(primary_key=True)
    event_id = models.UUIDField(default=uuid.uuid4, help_text="The client's own, or made at ingest.")
    # Every ingest would lock the application's row if a constraint held this.
    application = models.ForeignKey(
        Application, models.DO_NOTHING, related_name="events", db_constraint=False, db_index=False
    )
    event_type = models.CharField(max_length=200)
    payload = models.BinaryField()
    payload_content_type = models.CharField(max_length=100)
    labels = models.JSONField()
    metadata = models.JSONField(default=dict)
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(db_default=Now())
    ip = models.GenericIPAddressField(null=True)
    ordering_key = models.CharField(max_length=200, null=True)
    priority = models.SmallIntegerField(db_default=100)
    deliver_at = models.DateTimeField(null=True)
    backoff_schedule = ArrayField(models.IntegerField(), null=True, help_text="Waits between tries, in ms.")
    keys_if_undelivered = models.JSONField(null=True, help_text="Under which paths it is kept if it is given up.")
    traceparent = models.CharField(max_length=55, null=True, help_text="The trace it belongs to, as the W3C writes it.")
    tracestate = models.CharField(max_length=512, null=True)

    class Meta:
        db_table = "event"
        indexes = [
            # the list of the API and the admin, newest first
            models.Index(fields=["application", "received_at", "id"], name="event_by_arrival"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["application", "event_id"], name="event_once_per_application"),
            models.CheckConstraint(condition=Q(priority__gte=0, priority__lte=200), name="priority_within_bounds"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.event_id}"


class EventCount(models.Model):
    """How many events an application has sent on a day, in UTC. Kept only where quotas are enforced."""

    pk = models.CompositePrimaryKey("application_id", "day")
    application = models.ForeignKey(Application, models.CASCADE, related_name="event_counts", db_index=False)
    day = models.DateField()
    amount = models.BigIntegerField()

    class Meta:
        db_table = "event_count"

    def __str__(self) -> str:
        return f"{self.amount} on {self.day}"


class EventsPerDay(models.Model):
    """How many events an application received on a day, in UTC. It outlives the events."""

    pk = models.CompositePrimaryKey("application_id", "day")
    application = models.ForeignKey(Application, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    amount = models.BigIntegerField()

    class Meta:
        db_table = "events_per_day"

    def __str__(self) -> str:
        return f"{self.application_id} on {self.day}: {self.amount}"


class EventUpkeep(models.Model):
    """One row that says how far the jobs have come that follow the events."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    counted_until = models.DateTimeField(help_text="What was received before is in events_per_day.")
    swept_to = models.BigIntegerField(default=0, help_text="The last event that retention has looked at.")

    class Meta:
        db_table = "event_upkeep"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="event_upkeep_is_one_row")]

    def __str__(self) -> str:
        return f"counted until {self.counted_until}"


class Replay(models.Model):
    """Deliveries of past events, made again in the background. The cursor is the last event that was looked at."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="replays", db_index=False)
    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="+", db_index=False, null=True)
    since = models.DateTimeField()
    until = models.DateTimeField()
    event_types = ArrayField(models.CharField(max_length=200), null=True, help_text="Names, or wildcards.")
    labels = models.JSONField(null=True)
    only_failed = models.BooleanField(help_text="Leave out what was delivered, or is about to be.")
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    total = models.BigIntegerField(null=True, help_text="Events to look at, as counted when it started.")
    done = models.BigIntegerField(default=0, help_text="Events looked at.")
    deliveries = models.BigIntegerField(default=0, help_text="Deliveries made.")
    cursor_received_at = models.DateTimeField()
    cursor_event = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    moved_at = models.DateTimeField(db_default=Now(), help_text="Who was moved on longest ago is next.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "replay"
        indexes = [
            # events.replays: which to move on
            models.Index(fields=["moved_at"], name="replay_under_way", condition=Q(state__in=["waiting", "running"])),
            # the list of the API
            models.Index(fields=["application", "-created_at", "-id"], name="replay_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running", "done", "cancelled"]), name="replay_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running"], finished_at=None)
                | Q(state__in=["done", "cancelled"], finished_at__isnull=False),
                name="replay_has_an_end_when_it_is_over",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id}: {self.state}"


class BulkLoad(models.Model):
    """Events that Spark loads: staged and merged by `spark_ingest`, then released as deliveries, chunk after chunk.

    `spark_ingest` writes the rows by SQL, where Django is not installed: every default is the database's.
    """

    class State(models.TextChoices):
        LOADING = "loading"  # Spark copies the rows into a staging table
        MERGING = "merging"  # they become events, in order; chunks are made
        READY = "ready"  # all events are there, and the release may begin
        RELEASING = "releasing"  # chunks become deliveries
        PAUSED = "paused"  # between chunks, by somebody
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"  # nothing of it is left; run again with its id, it begins anew

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="bulk_loads", db_index=False)
    state = models.CharField(max_length=9, choices=State, db_default=State.LOADING)
    stage = models.CharField(max_length=100, db_default="", help_text="What goes on, in words.")
    progress = models.SmallIntegerField(db_default=0, help_text="Of the load into the database, in percent.")
    source = models.CharField(max_length=1000, db_default="", help_text="Where the rows come from.")
    actor = models.CharField(max_length=150, db_default="", help_text="Who loads.")
    error = models.TextField(db_default="", help_text="What went wrong last.")
    run = models.UUIDField(null=True, help_text="The run that loads; one that another has taken over changes nothing.")
    staging = models.CharField(max_length=63, db_default="", help_text="Its table in the schema bulk_load_stage.")
    is_stream = models.BooleanField(db_default=False, help_text="Chunks may come for as long as it is not over.")
    last_batch = models.BigIntegerField(null=True, help_text="The last micro-batch of a stream that was merged.")
    rows_read = models.BigIntegerField(db_default=0)
    rows_quarantined = models.BigIntegerField(db_default=0)
    quarantined = models.JSONField(db_default={}, help_text="How many rows for which reason.")
    rows_merged = models.BigIntegerField(db_default=0, help_text="Rows that are events now, or were duplicates.")
    events_count = models.BigIntegerField(db_default=0, help_text="Events that were new.")
    chunks = models.IntegerField(db_default=0, help_text="How many chunks there are.")
    per_second = models.IntegerField(null=True, help_text="Events to release; null: as fast as live traffic allows.")
    released_chunks = models.IntegerField(db_default=0, help_text="Chunks that are released to their end.")
    released_of_chunk = models.IntegerField(db_default=0, help_text="Events released of the next one.")
    released_until = models.DateTimeField(null=True, help_text="Up to when `per_second` is used up.")
    events_released = models.BigIntegerField(db_default=0)
    deliveries = models.BigIntegerField(db_default=0, help_text="Deliveries made.")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(db_default=Now(), help_text="When it was last begun, or gone on with.")
    loaded_at = models.DateTimeField(null=True, help_text="When all of its events were there.")
    moved_at = models.DateTimeField(db_default=Now(), help_text="Who was moved on longest ago is released next.")
    finished_at = models.DateTimeField(null=True)
    calls_off = models.BooleanField(db_default=False, help_text="Cancelled, and what is pending of it is called off.")
    is_tidy = models.BooleanField(db_default=False, help_text="It is over, and nothing of it is left to be removed.")

    class Meta:
        db_table = "bulk_load"
        indexes = [
            # events.release: which to move on
            models.Index(
                fields=["moved_at"], name="bulk_load_to_release", condition=Q(state__in=["ready", "releasing"])
            ),
            # events.bulk_loads: those of applications that are deleted; lock_old_events.sql: what is still needed
            models.Index(fields=["application"], name="bulk_load_not_over", condition=Q(finished_at=None)),
            # events.leftovers
            models.Index(
                fields=["finished_at"],
                name="bulk_load_to_tidy",
                condition=Q(state__in=["done", "cancelled"], is_tidy=False),
            ),
            # the list of the API
            models.Index(fields=["application", "-created_at", "-id"], name="bulk_load_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "loading",
                        "merging",
                        "ready",
                        "releasing",
                        "paused",
                        "done",
                        "cancelled",
                        "failed",
                    ]
                ),
                name="bulk_load_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["done", "cancelled", "failed"], finished_at__isnull=False)
                | (~Q(state__in=["done", "cancelled", "failed"]) & Q(finished_at=None)),
                name="bulk_load_has_an_end_when_it_is_over",
            ),
            models.CheckConstraint(
                condition=Q(progress__gte=0, progress__lte=100), name="bulk_load_progress_in_bounds"
            ),
            models.CheckConstraint(condition=Q(per_second=None) | Q(per_second__gte=1), name="bulk_load_rate_moves"),
            models.CheckConstraint(
                condition=Q(events_released__lte=F("events_count"), released_chunks__lte=F("chunks")),
                name="bulk_load_releases_what_it_has",
            ),
        ]

    @property
    def rows_duplicate(self) -> int:
        """Rows whose event was there before, or earlier in the load."""
        return self.rows_merged - self.events_count

    def __str__(self) -> str:
        return f"{self.id}: {self.state}"


class BulkLoadChunk(models.Model):
    """Some thousand events of a load in the order they are released: by `occurred_at`, then by place in the input.

    An event is named by its key; a row for each would double what a load costs. Chunks are planned, then merged.
    """

    pk = models.CompositePrimaryKey("load_id", "number")
    load = models.ForeignKey(BulkLoad, models.CASCADE, related_name="+", db_index=False)
    number = models.IntegerField(help_text="From 0 on, without holes: the order of the chunks.")
    after_occurred_at = models.DateTimeField(null=True, help_text="Behind what it begins: the end of the one before.")
    after_place = models.BigIntegerField(null=True)
    until_occurred_at = models.DateTimeField(help_text="The last row in it.")
    until_place = models.BigIntegerField()
    events = ArrayField(
        models.BigIntegerField(), null=True, help_text="Keys of `event`, in order; null until it is merged."
    )

    class Meta:
        db_table = "bulk_load_chunk"
        indexes = [
            # take_chunk.sql of spark_ingest
            models.Index(fields=["load", "number"], name="bulk_load_chunk_to_merge", condition=Q(events=None)),
        ]

    def __str__(self) -> str:
        return f"chunk {self.number} of {self.load_id}"


class ReleasePace(models.Model):
    """One row: how fast bulk loads are released that have no rate of their own. `events.pace` says what is in it."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    pace = models.JSONField(null=True)
    released = models.BigIntegerField(default=0, help_text="Events, since the pace changed.")
    deliveries = models.BigIntegerField(default=0, help_text="Made of them.")
    released_until = models.DateTimeField(null=True, help_text="Up to when the pace is used up.")

    class Meta:
        db_table = "release_pace"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="release_pace_is_one_row")]

    def __str__(self) -> str:
        return str(self.pace)


class Undelivered(models.Model):
    """An event that was given up, under a key that it had named for this: a path of words. The latest counts."""

    application = models.ForeignKey(Application, models.CASCADE, related_name="+", db_index=False)
    path = ArrayField(models.CharField(max_length=100, db_collation="C"))
    event_id = models.UUIDField()
    event_type = models.CharField(max_length=200)
    payload = models.BinaryField()
    payload_content_type = models.CharField(max_length=100)
    subscription = models.ForeignKey(
        Subscription, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    reason = models.CharField(max_length=16, choices=DeadLetter.Reason)
    stored_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "undelivered"
        verbose_name = verbose_name_plural = "undelivered"
        indexes = [
            # the oldest, where there are more than an application may have
            models.Index(fields=["application", "stored_at"], name="undelivered_by_age"),
        ]
        constraints = [
            # the list of the API, by prefix
            models.UniqueConstraint(fields=["application", "path"], name="undelivered_once_per_path"),
        ]

    def __str__(self) -> str:
        return "/".join(self.path)
