-- How the tries of the last slots ended, counted anew: a slot is counted until it is over, and once after.
-- Called by delivery.tallies each minute; served by attempt_log_ended, of whose partitions all but today's are spared.
INSERT INTO attempt_tally (subscription_id, slot, succeeded, latency, amount)
SELECT subscription_id, date_bin('10 minutes', ended_at, 'epoch'), succeeded,
       width_bucket(coalesce(elapsed_ms, 0), %(bounds)s::integer[]), count(*)
  FROM attempt_log
 WHERE ended_at >= %(since)s::timestamptz AND accepted
 GROUP BY 1, 2, 3, 4
    ON CONFLICT (subscription_id, slot, succeeded, latency) DO UPDATE SET amount = excluded.amount
 WHERE attempt_tally.amount <> excluded.amount
