-- Attempts of an application, newest first: the pending ones, and those that have ended. Called by delivery.attempts.
-- An id begins with the time its delivery was made, so an interval of ids is one of time, and a cursor, and one delivery.
-- Ended: a walk down attempt_log_application (_subscription, _failed, or attempt_log_event), which is one for all days.
-- Pending: a walk down attempt_by_age in each subscription. Either ends with the page. What is being sent is not in that
-- index, so that a claim need not write to it; there is never much of it, and attempt_leased has it.
-- What is not asked for is NULL, and its conditions are gone before this is planned: parameters are written into the text.
-- Without its event, which retention has taken, an attempt is not shown. Nor is what ended after its lease had gone to
-- another (`accepted`): it has the number of the try that took its place.
WITH waiting AS (
  SELECT newest.*
    FROM subscription s CROSS JOIN LATERAL (
      SELECT * FROM pending_attempt a
       WHERE a.subscription_id = s.id AND NOT a.is_leased
         AND a.delivery_id >= %(first_delivery)s::uuid AND a.delivery_id < %(before)s::uuid
         AND a.id >= %(since)s::uuid AND a.id < %(before)s::uuid
         AND (%(event_id)s::uuid IS NULL OR a.event_pk =
               (SELECT id FROM event WHERE application_id = %(application_id)s::uuid AND event_id = %(event_id)s::uuid))
         AND (%(lane_id)s::bigint IS NULL OR a.lane_id = %(lane_id)s::bigint)
         AND (%(event_types)s::text[] IS NULL OR a.event_type LIKE ANY (%(event_types)s::text[]))
         AND (%(labels)s::jsonb[] IS NULL
              OR EXISTS (SELECT FROM event e WHERE e.id = a.event_pk AND e.labels @> ALL (%(labels)s::jsonb[])))
         AND (%(states)s::text[] IS NULL OR a.state = ANY (%(states)s::text[]))
       ORDER BY a.delivery_id DESC
       LIMIT %(most)s
    ) AS newest
   WHERE %(with_pending)s AND s.application_id = %(application_id)s::uuid AND s.deleted_at IS NULL
     AND (%(subscription_id)s::uuid IS NULL OR s.id = %(subscription_id)s::uuid)
),
leased AS (
  SELECT * FROM pending_attempt a
   WHERE %(with_pending)s AND a.is_leased AND a.application_id = %(application_id)s::uuid
     AND a.delivery_id >= %(first_delivery)s::uuid AND a.delivery_id < %(before)s::uuid
     AND a.id >= %(since)s::uuid AND a.id < %(before)s::uuid
     AND (%(subscription_id)s::uuid IS NULL OR a.subscription_id = %(subscription_id)s::uuid)
     AND (%(event_id)s::uuid IS NULL OR a.event_uuid = %(event_id)s::uuid)
     AND (%(lane_id)s::bigint IS NULL OR a.lane_id = %(lane_id)s::bigint)
     AND (%(event_types)s::text[] IS NULL OR a.event_type LIKE ANY (%(event_types)s::text[]))
     AND (%(labels)s::jsonb[] IS NULL
          OR EXISTS (SELECT FROM event e WHERE e.id = a.event_pk AND e.labels @> ALL (%(labels)s::jsonb[])))
     AND (%(states)s::text[] IS NULL OR a.state = ANY (%(states)s::text[]))
),
pending AS (
  SELECT id, event_uuid, event_type, subscription_id, description, lane_id, lane_seq, number, due_at,
         CASE WHEN lease_until IS NOT NULL THEN lease_until - (
           SELECT CASE s.target_type WHEN 'pull' THEN s.lease_seconds * interval '1 s'
                       ELSE s.timeout_ms * interval '1 ms' + %(margin)s * interval '1 s' END
             FROM subscription s WHERE s.id = a.subscription_id) END AS picked_at,
         NULL::timestamptz AS ended_at, NULL::text AS error_name, NULL::smallint AS http_status, state
    FROM (SELECT * FROM waiting UNION ALL SELECT * FROM leased) AS a
),
ended AS (
  SELECT a.id, e.event_id, e.event_type, s.id AS subscription_id, s.description, a.lane_id, a.lane_seq, a.try_number,
         a.due_at, a.picked_at, a.ended_at, a.error_name, a.http_status,
         CASE WHEN a.succeeded THEN 'successful' ELSE 'failed' END AS state
    FROM attempt_log a
    JOIN event e ON e.id = a.event_id
    JOIN subscription s ON s.id = a.subscription_id
   WHERE %(with_ended)s AND a.accepted AND a.application_id = %(application_id)s::uuid
     AND a.id >= %(since)s::uuid AND a.id < %(before)s::uuid
     AND a.ended_at >= %(ended_since)s::timestamptz  -- spares days: nothing ends before it was made
     AND (%(subscription_id)s::uuid IS NULL OR a.subscription_id = %(subscription_id)s::uuid)
     AND (%(event_id)s::uuid IS NULL OR a.event_id =
           (SELECT id FROM event WHERE application_id = %(application_id)s::uuid AND event_id = %(event_id)s::uuid))
     AND (%(lane_id)s::bigint IS NULL OR a.lane_id = %(lane_id)s::bigint)
     AND (%(event_types)s::text[] IS NULL OR e.event_type LIKE ANY (%(event_types)s::text[]))
     AND (%(labels)s::jsonb[] IS NULL OR e.labels @> ALL (%(labels)s::jsonb[]))
     AND (%(failed)s::boolean IS NULL OR (a.error_name IS NOT NULL) = %(failed)s::boolean)
     AND (%(error_name)s::text IS NULL OR a.error_name = %(error_name)s::text)
     AND (%(http_status)s::smallint IS NULL OR a.http_status = %(http_status)s::smallint)
   ORDER BY a.id DESC
   LIMIT %(most)s
)
SELECT * FROM pending UNION ALL SELECT * FROM ended ORDER BY id DESC LIMIT %(most)s
