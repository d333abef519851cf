-- The FIFO subscriptions with the most waiting, one by one, and all others as one. Called by monitoring.snapshot. Served
-- by lane_ready, lane_leased, lane_blocked and lane_paused.
WITH busy AS (
  SELECT subscription_id, tail_seq - head_seq + 1 AS depth, tries AS retries, since
    FROM fifo_subscription_state WHERE phase = 1
   UNION ALL
  -- The try under way is no retry yet, and the last one of a blocked head was followed by none.
  SELECT subscription_id, tail_seq - head_seq + 1, greatest(0, tries - 1), since
    FROM fifo_subscription_state WHERE phase = 2
   UNION ALL
  SELECT subscription_id, tail_seq - head_seq + 1, greatest(0, tries - 1), since
    FROM fifo_subscription_state WHERE phase = 3
   UNION ALL
  SELECT subscription_id, tail_seq - head_seq + 1, tries, since
    FROM fifo_subscription_state WHERE phase = 4
),
ranked AS (
  SELECT subscription_id, sum(depth) AS depth, max(retries) AS retries, min(since) AS since,
         row_number() OVER (ORDER BY sum(depth) DESC, subscription_id) AS rank
    FROM busy GROUP BY subscription_id HAVING sum(depth) > 0
)
SELECT CASE WHEN rank <= %(most)s THEN subscription_id::text ELSE 'other' END AS subscription_id,
       sum(depth)::bigint AS fifo_subscription_queue_depth,
       max(retries)::int AS fifo_subscription_current_retry_count,
       greatest(0, coalesce(extract(epoch FROM now() - min(since)), 0))::float AS hook0_fifo_subscription_held_seconds
  FROM ranked
 GROUP BY 1
