-- Count what came in between two moments of one day, for every application. Called by events.per_day. Served by event_by_arrival,
-- which is probed once for each application. A day is counted anew (`whole`) when it is over.
WITH counted AS (
  SELECT a.id, n.amount
    FROM application a CROSS JOIN LATERAL (
      SELECT count(*) AS amount FROM event e
       WHERE e.application_id = a.id AND e.received_at >= %(since)s::timestamptz AND e.received_at < %(until)s::timestamptz
    ) AS n
   WHERE n.amount > 0
)
INSERT INTO events_per_day AS d (application_id, day, amount)
SELECT id, (%(since)s::timestamptz AT TIME ZONE 'UTC')::date, amount FROM counted
ON CONFLICT (application_id, day) DO UPDATE
  SET amount = excluded.amount + CASE WHEN %(whole)s THEN 0 ELSE d.amount END
