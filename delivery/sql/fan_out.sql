-- Store new events, in the order given, and make deliveries of them, or of events that are stored already, for every
-- subscription that matches, or for `only` one, whatever it matches. One statement, because every ingest waits for it.
-- Called by delivery.dispatch; last thing before the commit. Served by event_type_pkey, event_once_per_application,
-- subscription_wants, lane_once_per_key, subscription_state_pkey.
--
-- New: an event whose type the application does not have, or whose id it has already sent, is left out and said so.
-- Where we drew all ids ourselves, delivery.dispatch takes ON CONFLICT DO NOTHING away: it costs a batch a tenth.
-- States: FOR KEY SHARE, held to the commit, keeps a subscription from being put to sleep (lock_idle.sql), deleted or
-- changed in its mode (each asks for FOR UPDATE) until our deliveries are visible; publishers do not wait for each
-- other. Who was changed after our snapshot would be left out: nothing is done then, and the caller begins anew.
-- Lanes: the upsert locks them in (subscription, key) order and hands out the next numbers; the lock is held to
-- the commit, so a lane's order is its commit order and an aborted transaction leaves no hole.
-- A saturated subscription without order is woken by the end of a request in flight (record_loose.sql).
-- Consumers that pull (their pools are negative) are told of it at the commit, wherever they wait (delivery.waking).
-- Plans: the planner takes a batch for a handful of rows and would hold each against each. Joins of parts are FULL where
-- each row has its other, as those are hashed always; and what a row must fulfil is said so that it expects many.
WITH given AS NOT MATERIALIZED (
  SELECT * FROM ROWS FROM (json_to_recordset(%(new)s::json) AS (
    event_type text, payload_content_type text, labels jsonb, metadata jsonb,
    occurred_at timestamptz, ordering_key text, priority smallint, deliver_at timestamptz, backoff_schedule integer[],
    keys_if_undelivered jsonb, ip inet, traceparent text, tracestate text),
    unnest(%(ids)s::uuid[], %(payloads)s::bytea[])
  ) WITH ORDINALITY AS e (
    event_type, payload_content_type, labels, metadata,
    occurred_at, ordering_key, priority, deliver_at, backoff_schedule, keys_if_undelivered, ip, traceparent, tracestate,
    event_id, payload, ordinal)
),
known AS MATERIALIZED (
  SELECT name FROM event_type
   WHERE application_id = %(application)s::uuid AND deactivated_at IS NULL
     AND name = ANY (%(types)s::text[])
),
added AS (
  INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at,
                     received_at, ip, ordering_key, priority, deliver_at, backoff_schedule, keys_if_undelivered, traceparent,
                     tracestate)
  SELECT event_id, %(application)s::uuid, event_type, payload, payload_content_type, labels, coalesce(metadata, '{}'),
         occurred_at, statement_timestamp(), ip, ordering_key, coalesce(priority, 100), deliver_at, backoff_schedule,
         keys_if_undelivered, traceparent, tracestate
    FROM given
   WHERE (event_type IN (SELECT name FROM known)) IS TRUE  -- a look into a hash
   ORDER BY ordinal  -- so the ids have this order, too
  ON CONFLICT (application_id, event_id) DO NOTHING  -- see above
  RETURNING id, event_id, application_id, event_type, labels, ordering_key, deliver_at, priority, received_at
),
stored AS (
  SELECT id, event_id, application_id, event_type, labels, ordering_key, deliver_at, priority, received_at,
         ordinal, (ordinal - 1) * %(apart)s::float * interval '1 s' AS later
    FROM unnest(%(stored)s::bigint[]) WITH ORDINALITY AS o (id, ordinal) JOIN event e USING (id)
),
named AS MATERIALIZED (  -- once for each type of a batch: a.b.c is wanted by those who list a.b.c, a.b.* or a.*
  SELECT application_id, event_type,
         (SELECT array_agg(array_to_string(parts[1:i], '.') || '.*') || event_type::text
            FROM string_to_array(event_type, '.') AS parts, generate_series(1, cardinality(parts) - 1) AS i
         ) AS names
    FROM (SELECT %(application)s::uuid AS application_id, name AS event_type FROM known
           UNION SELECT application_id, event_type FROM stored) AS types
),
interested AS MATERIALIZED (  -- in a type, whatever the labels: once for each type, too
  SELECT named.application_id, named.event_type, s.*
    FROM named
    CROSS JOIN LATERAL (
      SELECT id, fifo_mode, fifo_key, labels
        FROM subscription
       WHERE application_id = named.application_id AND deleted_at IS NULL
         AND CASE WHEN %(only)s::uuid IS NULL THEN is_enabled AND event_types::text[] && named.names
                  ELSE id = %(only)s::uuid END
      OFFSET 0  -- keeps it apart: joined, the planner might read all subscriptions for one type
    ) AS s
),
chosen AS (
  SELECT added.*, id AS ordinal, interval '0' AS later FROM added UNION ALL SELECT * FROM stored
),
event AS (
  SELECT e.*, greatest(e.deliver_at, statement_timestamp()) AS free_at,
         greatest(e.deliver_at, statement_timestamp() + later) AS due_at,
         coalesce(%(priority)s::smallint, e.priority) AS weight
    FROM chosen e
),
routed AS MATERIALIZED (
  SELECT event.id AS event_id, event.ordinal, event.weight AS priority, event.free_at, event.due_at,
         s.id AS subscription_id, s.fifo_mode,
         lane_key(s.fifo_key, event.event_type, event.ordering_key, event.labels) AS lane_key
    FROM event JOIN interested AS s USING (event_type)
   WHERE CASE WHEN s.application_id <> event.application_id THEN false
              WHEN %(only)s::uuid IS NULL THEN event.labels @> s.labels
              ELSE true END
),
held AS MATERIALIZED (
  SELECT st.subscription_id, st.fifo_mode, st.pool, st.ready_at, st.in_flight >= least(s.max_in_flight, st.allowance) AS saturated
    FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
   WHERE st.subscription_id IN (SELECT subscription_id FROM routed)
   ORDER BY st.subscription_id
   FOR KEY SHARE OF st
),
current AS MATERIALIZED (
  SELECT r.*, h.pool, h.ready_at, h.saturated FROM routed r JOIN held h USING (subscription_id, fifo_mode)
),
lane AS (
  INSERT INTO fifo_subscription_state AS l (subscription_id, pool, key, tail_seq, phase, ready_at)
  SELECT subscription_id, pool, lane_key, count(*), 1, (array_agg(due_at ORDER BY ordinal))[1]
    FROM current WHERE fifo_mode
   GROUP BY subscription_id, pool, lane_key
   ORDER BY subscription_id, lane_key
  ON CONFLICT (subscription_id, key) DO UPDATE SET
    tail_seq = l.tail_seq + excluded.tail_seq,
    phase = CASE WHEN l.phase = 0 THEN 1 ELSE l.phase END,
    ready_at = CASE WHEN l.phase = 0 THEN excluded.ready_at ELSE l.ready_at END
  RETURNING l.id, l.subscription_id, l.key, l.tail_seq
),
numbered AS (
  INSERT INTO request_attempt (id, event_id, subscription_id, lane_id, lane_seq, priority, due_at)
  SELECT new_delivery_id(), c.event_id, c.subscription_id, lane.id,
         lane.tail_seq - count(*) OVER (PARTITION BY lane.id)
                       + row_number() OVER (PARTITION BY lane.id ORDER BY c.ordinal),
         c.priority, c.free_at  -- its turn spaces it out enough
    FROM (SELECT * FROM current WHERE fifo_mode) AS c
    FULL JOIN lane ON lane.subscription_id = c.subscription_id AND lane.key = c.lane_key
  RETURNING 1
),
wake AS MATERIALIZED (
  SELECT subscription_id, min(due_at) AS due_at
    FROM current
   WHERE NOT fifo_mode AND NOT saturated
   GROUP BY subscription_id, ready_at
  HAVING ready_at IS NULL OR ready_at > min(due_at)
),
asleep AS MATERIALIZED (
  SELECT subscription_id FROM subscription_state WHERE subscription_id IN (SELECT subscription_id FROM wake)
   ORDER BY subscription_id
   FOR NO KEY UPDATE
),
woken AS (
  UPDATE subscription_state st SET ready_at = least(st.ready_at, w.due_at)
    FROM (asleep FULL JOIN wake USING (subscription_id)) AS w
   WHERE st.subscription_id = w.subscription_id
),
loose AS (
  INSERT INTO request_attempt (id, event_id, subscription_id, priority, due_at)
  SELECT new_delivery_id(), event_id, subscription_id, priority, due_at FROM current WHERE NOT fifo_mode
   ORDER BY subscription_id, ordinal  -- so the indexes grow at their ends
  RETURNING 1
),
told AS (
  SELECT pg_notify('hook0_work', subscription_id::text)
    FROM (SELECT DISTINCT subscription_id FROM current WHERE pool < 0 AND due_at <= clock_timestamp()) AS pulled
)
SELECT statement_timestamp(),
       ARRAY(SELECT name::text FROM known),
       CASE WHEN cardinality(%(payloads)s::bytea[]) = (SELECT count(*) FROM added) THEN '{}' ELSE ARRAY(
         SELECT ordinal
           FROM (SELECT ordinal, event_id, name, row_number() OVER (PARTITION BY event_id, name IS NULL ORDER BY ordinal) AS nth
                   FROM given LEFT JOIN known ON known.name = given.event_type) AS again
          WHERE name IS NULL OR nth > 1 OR event_id NOT IN (SELECT event_id FROM added)) END,
       (SELECT count(*) FROM numbered) + (SELECT count(*) FROM loose),
       (SELECT awake_until > clock_timestamp() FROM pump_beacon),
       (SELECT count(pg_notify) FROM told),
       (SELECT begin_anew() WHERE (SELECT count(*) FROM routed) > (SELECT count(*) FROM current))
