-- How far consumers have come with deliveries that they hold; the answer is which those are. Called by delivery.progress.
-- Served by primary keys. A report belongs to the try: the next one begins without.
INSERT INTO attempt_progress AS p (id, percent, stage, events_count)
SELECT attempt_id(a.id, a.tries + coalesce(l.tries, 0)), given.percent, given.stage, given.events_count
  FROM jsonb_to_recordset(%(reports)s::jsonb)
         AS given (id uuid, epoch bigint, percent smallint, stage text, events_count bigint)
  JOIN request_attempt a USING (id)
  LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
 WHERE a.subscription_id = %(subscription)s::uuid
   AND CASE WHEN a.lane_id IS NULL THEN a.epoch = given.epoch
            ELSE l.phase = 2 AND l.epoch = given.epoch AND l.head_seq = a.lane_seq END
 ORDER BY 1
    ON CONFLICT (id) DO UPDATE SET percent = coalesce(excluded.percent, p.percent),
                                   stage = coalesce(excluded.stage, p.stage),
                                   events_count = coalesce(excluded.events_count, p.events_count),
                                   reported_at = excluded.reported_at
RETURNING id
