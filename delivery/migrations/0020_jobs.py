"""The job queue: queues, jobs, and the word that wakes streams."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
from django.db import migrations, models

import tenants.ids

# What waiters are told: the tags of jobs that can be assigned now, and the streams that have room. What is too long to be
# told is left out, and then it may be anything.
JOBS_WORD = (
    """
    CREATE FUNCTION jobs_word(queue uuid, tags jsonb, streams jsonb) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN octet_length(told) <= 7900 THEN told ELSE queue::text END
        FROM (SELECT concat_ws(' ', queue, jsonb_build_object('tags', coalesce(tags, '[]'), 'streams', coalesce(streams, '[]')))
             ) AS word (told)
    $$
    """,
    "DROP FUNCTION jobs_word(uuid, jsonb, jsonb)",
)


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0012_progress"),
        ("tenants", "0003_staff_of_organizations"),
    ]

    operations = [
        migrations.RunSQL(*JOBS_WORD),
        migrations.CreateModel(
            name="JobQueue",
            fields=[
                ("id", models.UUIDField(default=tenants.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "is_fifo",
                    models.BooleanField(db_default=False, help_text="Every job has a key; of each key there runs one."),
                ),
                (
                    "lease_seconds",
                    models.IntegerField(help_text="How long a worker may be silent; none: for ever.", null=True),
                ),
                (
                    "retry_limit",
                    models.IntegerField(help_text="Of jobs that name none of their own; none: no limit.", null=True),
                ),
                (
                    "retention_seconds",
                    models.IntegerField(help_text="How long completed jobs are kept; none: for ever.", null=True),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "application",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_queues",
                        to="tenants.application",
                    ),
                ),
            ],
            options={
                "db_table": "job_queue",
            },
        ),
        migrations.CreateModel(
            name="StoredJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("job_id", models.CharField(help_text="The caller's.", max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("INITIAL_PENDING", "INITIAL_PENDING"),
                            ("RUNNING", "RUNNING"),
                            ("COMPLETED", "COMPLETED"),
                            ("FAILED_RETRY", "FAILED_RETRY"),
                            ("STOPPED", "STOPPED"),
                            ("UNSCHEDULED", "UNSCHEDULED"),
                            ("UNKNOWN_RETRY", "UNKNOWN_RETRY"),
                            ("CANCELLING", "CANCELLING"),
                            ("UNKNOWN_STOPPED", "UNKNOWN_STOPPED"),
                            ("EXHAUSTED", "EXHAUSTED"),
                        ],
                        max_length=16,
                    ),
                ),
                ("type", models.CharField(max_length=100)),
                ("definition", models.BinaryField()),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None),
                ),
                ("key", models.CharField(help_text="In a FIFO queue.", max_length=200, null=True)),
                ("has_turn", models.BooleanField(help_text="False: it waits behind another job of its key.")),
                ("priority", models.SmallIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(null=True)),
                ("finalized_at", models.DateTimeField(null=True)),
                ("last_retry_at", models.DateTimeField(null=True)),
                ("assigned_at", models.DateTimeField(null=True)),
                ("assignee", models.CharField(max_length=200, null=True)),
                ("stream", models.UUIDField(help_text="In which it holds a place.", null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("retry_count", models.IntegerField(db_default=0)),
                ("retry_limit", models.IntegerField(null=True)),
                ("error", models.TextField(null=True)),
                ("result", models.BinaryField(null=True)),
                ("percent", models.SmallIntegerField(db_default=0)),
                ("stage", models.CharField(max_length=100, null=True)),
                ("events_count", models.IntegerField(db_default=0)),
                (
                    "queue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="jobs",
                        to="delivery.jobqueue",
                    ),
                ),
            ],
            options={
                "verbose_name": "job",
                "db_table": "job",
            },
        ),
        migrations.AddConstraint(
            model_name="jobqueue",
            constraint=models.UniqueConstraint(fields=("application", "name"), name="job_queue_once_per_application"),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(
                models.F("queue"),
                models.OrderBy(models.F("priority"), descending=True),
                django.db.models.functions.comparison.Coalesce("last_retry_at", "created_at"),
                models.F("id"),
                condition=models.Q(
                    ("has_turn", True), ("status__in", ["INITIAL_PENDING", "FAILED_RETRY", "UNKNOWN_RETRY"])
                ),
                name="job_claimable",
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(
                condition=models.Q(("has_turn", False), ("status", "INITIAL_PENDING")),
                fields=["queue", "key", "id"],
                name="job_waits_for_its_turn",
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="job_tags"),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(
                    ("has_turn", True), ("status__in", ["INITIAL_PENDING", "FAILED_RETRY", "UNKNOWN_RETRY"])
                ),
                fields=["tags"],
                name="job_tags_claimable",
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(
                condition=models.Q(("status__in", ["RUNNING", "CANCELLING"])),
                fields=["queue", "assignee"],
                name="job_assigned",
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(condition=models.Q(("stream__isnull", False)), fields=["stream"], name="job_in_stream"),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(
                condition=models.Q(("lease_until__isnull", False)), fields=["lease_until"], name="job_leased"
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(
                condition=models.Q(("status", "COMPLETED")), fields=["queue", "finalized_at"], name="job_completed"
            ),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(fields=["queue", "id"], name="job_by_age"),
        ),
        migrations.AddIndex(
            model_name="storedjob",
            index=models.Index(fields=["queue", "status", "id"], name="job_by_state"),
        ),
        migrations.AddConstraint(
            model_name="storedjob",
            constraint=models.UniqueConstraint(fields=("queue", "job_id"), name="job_once_per_id"),
        ),
        migrations.AddConstraint(
            model_name="storedjob",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("has_turn", True),
                    ("key__isnull", False),
                    models.Q(("status__in", ["COMPLETED", "STOPPED", "UNSCHEDULED", "UNKNOWN_STOPPED"]), _negated=True),
                ),
                fields=("queue", "key"),
                name="job_one_at_a_time_per_key",
            ),
        ),
        migrations.AddConstraint(
            model_name="storedjob",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "INITIAL_PENDING",
                            "RUNNING",
                            "COMPLETED",
                            "FAILED_RETRY",
                            "STOPPED",
                            "UNSCHEDULED",
                            "UNKNOWN_RETRY",
                            "CANCELLING",
                            "UNKNOWN_STOPPED",
                            "EXHAUSTED",
                        ],
                    )
                ),
                name="job_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="storedjob",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("has_turn", True),
                    models.Q(
                        ("key__isnull", False),
                        models.Q(
                            ("status__in", ["RUNNING", "FAILED_RETRY", "UNKNOWN_RETRY", "CANCELLING", "EXHAUSTED"]),
                            _negated=True,
                        ),
                    ),
                    _connector="OR",
                ),
                name="job_is_assigned_in_its_turn",
            ),
        ),
        migrations.AddConstraint(
            model_name="storedjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("lease_until", None), ("status__in", ["RUNNING", "CANCELLING"]), _connector="OR"),
                name="job_is_leased_while_assigned",
            ),
        ),
    ]
