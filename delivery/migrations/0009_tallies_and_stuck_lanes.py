"""What the admin looks at: how tries ended, in slots of ten minutes, and the lanes that are stuck."""

import django.db.models.deletion
from django.db import migrations, models

# Rows lie in the order in which they ended: a few bytes for each stretch of pages say where the last minutes are.
ENDED = (
    "CREATE INDEX attempt_log_ended ON attempt_log USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on)",
    "DROP INDEX attempt_log_ended",
)


# Where all that waits is one subscription's, the planner would take it that any subscription has so much, and look for
# another's by walking through it.
MANY_SUBSCRIPTIONS = (
    "ALTER TABLE request_attempt ALTER COLUMN subscription_id SET (n_distinct = 1000)",
    "ALTER TABLE request_attempt ALTER COLUMN subscription_id RESET (n_distinct)",
)


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0008_running_pumps"),
        ("subscriptions", "0004_tripped_circuits"),
    ]

    operations = [
        migrations.AlterModelOptions(name="attemptlog", options={"verbose_name": "request attempt"}),
        migrations.RunSQL(*ENDED),
        migrations.RunSQL(*MANY_SUBSCRIPTIONS),
        migrations.CreateModel(
            name="Tally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "subscription_id",
                        "slot",
                        "succeeded",
                        "latency",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="subscriptions.subscription",
                    ),
                ),
                ("slot", models.DateTimeField(help_text="When the ten minutes began.")),
                ("succeeded", models.BooleanField()),
                ("latency", models.SmallIntegerField(help_text="Which of delivery.tallies.BOUNDS_MS it was below.")),
                ("amount", models.BigIntegerField()),
            ],
            options={
                "db_table": "attempt_tally",
            },
        ),
        migrations.AddIndex(
            model_name="lane",
            index=models.Index(condition=models.Q(("since__isnull", False)), fields=["since", "id"], name="lane_stuck"),
        ),
        migrations.AddIndex(
            model_name="tally",
            index=models.Index(fields=["slot"], name="attempt_tally_slot"),
        ),
    ]
