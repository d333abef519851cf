"""How much waited, in slots of ten minutes: what the admin draws."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0020_jobs"),
        ("subscriptions", "0006_announcements"),
    ]

    operations = [
        migrations.CreateModel(
            name="BacklogSample",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "subscription_id", "slot", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slot", models.DateTimeField(help_text="When the ten minutes began.")),
                ("amount", models.IntegerField(help_text="Up to delivery.backlog.MOST_COUNTED.")),
                ("age_seconds", models.IntegerField(help_text="Of the oldest.")),
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
            ],
            options={
                "db_table": "backlog_sample",
                "indexes": [models.Index(fields=["slot"], name="backlog_sample_slot")],
            },
        ),
    ]
