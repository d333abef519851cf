"""What the queue needs of PostgreSQL beyond tables: fences, ids, storage, partitions."""

import django.db.models.deletion
from django.db import migrations, models

# The fence of a claim. Drawn, not counted: a sequence steps back when the database crashes before the last claims are on
# disk, and a pump that survived would hold the number of somebody else's claim.
FENCE = (
    """
    CREATE FUNCTION new_epoch() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
      SELECT (random() * 9007199254740991)::bigint
    $$
    """,
    "DROP FUNCTION new_epoch()",
)

# A UUID of version 7 whose last 16 bits are zero: room for the number of the try (delivery/attempt_ids.py).
NEW_DELIVERY_ID = (
    """
    CREATE FUNCTION new_delivery_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
      SELECT encode(
        overlay(
          set_bit(set_bit(
            overlay(uuid_send(gen_random_uuid())
                    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                    FROM 1 FOR 6),
            52, 1), 53, 1)
          PLACING '\\x0000'::bytea FROM 15 FOR 2),
        'hex')::uuid
    $$
    """,
    "DROP FUNCTION new_delivery_id()",
)

# The id of one try of a delivery, as delivery/attempt_ids.py makes it.
ATTEMPT_ID = (
    """
    CREATE FUNCTION attempt_id(delivery uuid, try_number integer) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT encode(overlay(uuid_send(delivery) PLACING int2send((try_number - 1)::smallint) FROM 15 FOR 2), 'hex')::uuid
    $$
    """,
    "DROP FUNCTION attempt_id(uuid, integer)",
)

# Which lane of a subscription an event goes to.
LANE_KEY = (
    """
    CREATE FUNCTION lane_key(fifo_key text, event_type text, ordering_key text, labels jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN fifo_key = 'event_type' THEN event_type
                  WHEN fifo_key = 'ordering_key' THEN coalesce(ordering_key, '')
                  WHEN fifo_key LIKE 'label:%' THEN coalesce(labels ->> substr(fifo_key, 7), '')
                  ELSE '' END
    $$
    """,
    "DROP FUNCTION lane_key(text, text, text, jsonb)",
)

# How many requests a rate limit of `requests` per `per_seconds` allows at a moment, spent until `next_token_at`.
RATE_ALLOWS = (
    """
    CREATE FUNCTION rate_allows(rate_limit jsonb, next_token_at timestamptz, at timestamptz) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN rate_limit IS NULL THEN 1000000 ELSE
        greatest(0, floor((rate_limit ->> 'requests')::float
          - extract(epoch FROM greatest(next_token_at, at) - at)
            * (rate_limit ->> 'requests')::float / (rate_limit ->> 'per_seconds')::float + 1e-6))::integer END
    $$
    """,
    "DROP FUNCTION rate_allows(jsonb, timestamptz, timestamptz)",
)

# Small and hot: vacuumed by count instead of by share, with room on the page for the next version of a row.
HOT = (
    "fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, "
    "autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, "
    "vacuum_index_cleanup = on"
)
STORAGE = [
    (f"ALTER TABLE {table} SET ({HOT})", migrations.RunSQL.noop)
    for table in ("fifo_subscription_state", "subscription_state")
] + [
    (
        f"ALTER TABLE request_attempt SET ({HOT.replace('fillfactor = 50', 'fillfactor = 80')})",
        migrations.RunSQL.noop,
    )
]

ATTEMPT_LOG = (
    """
    CREATE TABLE attempt_log (
      id uuid NOT NULL,
      delivery_id uuid NOT NULL,
      event_id bigint NOT NULL,
      subscription_id uuid NOT NULL,
      lane_id bigint,
      lane_seq bigint,
      try_number smallint NOT NULL,
      succeeded boolean NOT NULL,
      accepted boolean NOT NULL,
      error_name text,
      http_status smallint,
      response_headers jsonb,
      response_body bytea,
      elapsed_ms integer,
      worker text,
      created_at timestamptz NOT NULL,
      due_at timestamptz NOT NULL,
      picked_at timestamptz,
      ended_at timestamptz NOT NULL,
      retry_at timestamptz,
      CHECK ((lane_id IS NULL) = (lane_seq IS NULL)),
      CHECK (succeeded = (error_name IS NULL))
    ) PARTITION BY RANGE (ended_at);
    CREATE INDEX attempt_log_id ON attempt_log (id);
    CREATE INDEX attempt_log_event ON attempt_log (event_id);
    CREATE INDEX attempt_log_subscription ON attempt_log (subscription_id, ended_at DESC, id DESC);
    -- So that a try is always logged, even if nobody made the day's partition in time.
    CREATE TABLE attempt_log_default PARTITION OF attempt_log DEFAULT;
    """,
    "DROP TABLE attempt_log",
)

# A day's partition, with what the default one has kept of that day meanwhile. Once more is harmless.
MAKE_PARTITION = (
    """
    CREATE FUNCTION make_attempt_log_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      name text := 'attempt_log_' || to_char(day, 'YYYYMMDD');
      since timestamptz := day::timestamp AT TIME ZONE 'UTC';
      until timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('attempt_log partitions'));
      IF to_regclass(name) IS NOT NULL THEN RETURN; END IF;
      LOCK TABLE attempt_log_default IN ACCESS EXCLUSIVE MODE;
      EXECUTE format('CREATE TABLE %I (LIKE attempt_log INCLUDING ALL)', name);
      EXECUTE format('WITH kept AS (DELETE FROM attempt_log_default WHERE ended_at >= $1 AND ended_at < $2 RETURNING *)'
                     ' INSERT INTO %I SELECT * FROM kept', name) USING since, until;
      EXECUTE format('ALTER TABLE attempt_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, since, until);
    END $$
    """,
    "DROP FUNCTION make_attempt_log_partition(date)",
)
FIRST_PARTITIONS = (
    "SELECT make_attempt_log_partition((now() AT TIME ZONE 'UTC')::date + day) FROM generate_series(0, 7) AS day",
    migrations.RunSQL.noop,
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_initial")]
    operations = [
        *(
            migrations.RunSQL(forward, back)
            for forward, back in [FENCE, NEW_DELIVERY_ID, ATTEMPT_ID, LANE_KEY, RATE_ALLOWS, *STORAGE]
        ),
        migrations.RunSQL(
            *ATTEMPT_LOG,
            state_operations=[
                migrations.CreateModel(
                    name="AttemptLog",
                    fields=[
                        ("id", models.UUIDField(primary_key=True, serialize=False)),
                        ("delivery_id", models.UUIDField()),
                        ("lane_id", models.BigIntegerField(null=True)),
                        ("lane_seq", models.BigIntegerField(null=True)),
                        ("try_number", models.SmallIntegerField()),
                        ("succeeded", models.BooleanField()),
                        (
                            "accepted",
                            models.BooleanField(help_text="False: it ended after its lease and changed nothing."),
                        ),
                        ("error_name", models.CharField(max_length=32, null=True)),
                        ("http_status", models.SmallIntegerField(null=True)),
                        ("response_headers", models.JSONField(null=True)),
                        ("response_body", models.BinaryField(null=True)),
                        ("elapsed_ms", models.IntegerField(null=True)),
                        ("worker", models.CharField(max_length=100, null=True)),
                        ("created_at", models.DateTimeField(help_text="When the delivery was made.")),
                        ("due_at", models.DateTimeField()),
                        ("picked_at", models.DateTimeField(null=True)),
                        ("ended_at", models.DateTimeField()),
                        ("retry_at", models.DateTimeField(null=True)),
                        (
                            "event",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="events.event",
                            ),
                        ),
                        (
                            "subscription",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="subscriptions.subscription",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "ended attempt",
                        "db_table": "attempt_log",
                    },
                ),
            ],
        ),
        *(migrations.RunSQL(forward, back) for forward, back in [MAKE_PARTITION, FIRST_PARTITIONS]),
    ]
