"""What the API's list of attempts takes: live and ended ones by application and by subscription, newest first."""

import django.db.models.deletion
from django.db import migrations, models

# A pump of the release before, still running, leaves it empty.
APPLICATION = (
    """
    ALTER TABLE attempt_log ADD COLUMN application_id uuid;
    UPDATE attempt_log l SET application_id = s.application_id FROM subscription s WHERE s.id = l.subscription_id;
    """,
    "ALTER TABLE attempt_log DROP COLUMN application_id",
)

# The id of an attempt begins with the time its delivery was made. Ascending: new entries go to the end of a page that
# is filled, where descending ones would split it in halves.
INDEXES = (
    """
    DROP INDEX attempt_log_subscription;
    CREATE INDEX attempt_log_subscription ON attempt_log (subscription_id, id);
    CREATE INDEX attempt_log_application ON attempt_log (application_id, id);
    -- What failed, where nearly all is well. A success is not in it and does not pay for it.
    CREATE INDEX attempt_log_failed ON attempt_log (application_id, id) WHERE error_name IS NOT NULL;
    """,
    """
    DROP INDEX attempt_log_failed, attempt_log_application, attempt_log_subscription;
    CREATE INDEX attempt_log_subscription ON attempt_log (subscription_id, ended_at DESC, id DESC);
    """,
)

# The try of a pending delivery that is under way, or else its next. In a lane, the lane knows about its head.
PENDING = (
    """
    CREATE VIEW pending_attempt AS
    SELECT attempt_id(a.id, try.number) AS id, a.id AS delivery_id, a.event_id AS event_pk, e.event_id AS event_uuid,
           e.event_type, a.subscription_id, s.application_id, s.description, s.timeout_ms, a.lane_id, a.lane_seq,
           try.number, try.due_at, try.lease_until, a.lease_until IS NOT NULL AS is_leased,
           CASE WHEN try.lease_until IS NOT NULL THEN 'in_progress'
                WHEN try.due_at > now() THEN 'waiting'
                ELSE 'pending' END AS state
      FROM request_attempt a
      JOIN event e ON e.id = a.event_id
      JOIN subscription s ON s.id = a.subscription_id
      LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id AND l.head_seq = a.lane_seq
      CROSS JOIN LATERAL (
        SELECT coalesce(a.lease_until, l.lease_until) AS lease_until, greatest(a.due_at, l.ready_at) AS due_at,
               a.tries + coalesce(l.tries, 0) + (coalesce(a.lease_until, l.lease_until) IS NULL)::int AS number
      ) AS try
    """,
    "DROP VIEW pending_attempt",
)


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0004_epoch_with_lease"),
        ("tenants", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(
            *APPLICATION,
            state_operations=[
                migrations.AddField(
                    model_name="attemptlog",
                    name="application",
                    field=models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.application",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(*INDEXES),
        migrations.RunSQL(*PENDING),
        migrations.AddIndex(
            model_name="requestattempt",
            index=models.Index(
                fields=["subscription", "id"], name="attempt_by_age", condition=models.Q(("lease_until", None))
            ),
        ),
        migrations.AddIndex(
            model_name="deadletter",
            index=models.Index(fields=["event"], name="dead_letter_event"),
        ),
    ]
