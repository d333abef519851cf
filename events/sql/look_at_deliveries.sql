-- How deliveries do that ended since a moment, and were made since another: how long each live one took that was not put
-- off, how long those of bulk loads waited, in the middle, and whether a pump was awake lately. Called by events.watch,
-- twice a second where a load is released. Served by attempt_log_id, because an id begins with the time its delivery was made, and by event_pkey.
WITH ended AS (
  SELECT l.event_id, l.created_at, l.picked_at, l.ended_at
    FROM attempt_log l
   WHERE l.id >= %(first)s::uuid AND l.ended_at > %(looked_at)s::timestamptz AND l.created_at >= %(since)s::timestamptz
     AND l.try_number = 1 AND l.succeeded
   ORDER BY l.id DESC
   LIMIT %(most)s
)
SELECT coalesce(array_agg(extract(epoch FROM ended_at - created_at)::float) FILTER (WHERE e.priority <> 30), '{}'),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM picked_at - created_at))
         FILTER (WHERE e.priority = 30),
       coalesce((SELECT awake_until > clock_timestamp() - interval '5 s' FROM pump_beacon), false)
  FROM ended JOIN event e ON e.id = ended.event_id
 WHERE e.deliver_at IS NULL
