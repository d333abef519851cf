-- Events per day in UTC, of some applications. Called by events.per_day. What that has counted before comes from
-- events_per_day; what has come in since is counted here, served by event_by_arrival. Days without events are left out.
WITH tally AS (
  SELECT coalesce((SELECT counted_until FROM event_upkeep), '-infinity') AS until
),
known AS (
  SELECT application_id, day, amount FROM events_per_day
   WHERE application_id = ANY (%(applications)s::uuid[]) AND day BETWEEN %(first)s::date AND %(last)s::date
   UNION ALL
  SELECT e.application_id, (e.received_at AT TIME ZONE 'UTC')::date, count(*)
    FROM tally, event e
   WHERE e.application_id = ANY (%(applications)s::uuid[])
     AND e.received_at >= greatest(tally.until, %(first)s::date::timestamp AT TIME ZONE 'UTC')
     AND e.received_at < (%(last)s::date + 1)::timestamp AT TIME ZONE 'UTC'
   GROUP BY 1, 2
)
SELECT known.application_id, a.name, known.day, sum(known.amount)::bigint,
       known.day >= (tally.until AT TIME ZONE 'UTC')::date
  FROM tally, known JOIN application a ON a.id = known.application_id
 GROUP BY known.application_id, a.name, known.day, tally.until
 ORDER BY known.day, a.name, known.application_id
