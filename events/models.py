import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

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

    class Meta:
        db_table = "event"
        indexes = [
            # the list of the API and the admin, newest first
            models.Index(fields=["application", "-received_at", "-id"], name="event_by_age"),
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
