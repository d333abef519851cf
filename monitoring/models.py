from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Snapshot(models.Model):
    """What the tables look like, as metrics. One row, so that one process of all computes it and the others read."""

    id = models.SmallIntegerField(primary_key=True, db_default=1)
    taken_at = models.DateTimeField(db_default=Now())
    next_at = models.DateTimeField(db_default=Now(), help_text="Not before is it taken anew.")
    seconds = models.FloatField(db_default=0.0, help_text="How long that took.")
    samples = models.JSONField(default=list, help_text="Name, labels and value of each.")

    class Meta:
        db_table = "metrics_snapshot"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="metrics_snapshot_is_one_row")]

    def __str__(self) -> str:
        return f"{len(self.samples)} samples of {self.taken_at}"


class JobRound(models.Model):
    """When a job on the clock last went well, and when it last failed."""

    job = models.CharField(max_length=100, primary_key=True)
    known_at = models.DateTimeField(db_default=Now(), help_text="When it was first on the clock.")
    succeeded_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=500, blank=True, db_default="")

    class Meta:
        db_table = "job_round"

    def __str__(self) -> str:
        return self.job
