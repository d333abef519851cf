-- Wait for one's turn with the keys of a FIFO queue, until the transaction ends. Called by delivery.jobs.rows. Keys share
-- some buckets, so that a batch of many keys takes no more locks than there are buckets; they are locked in one order.
SELECT pg_advisory_xact_lock(hashtext(%(queue)s::text), bucket)
  FROM (SELECT DISTINCT bucket FROM unnest(%(buckets)s::int[]) AS b (bucket) ORDER BY bucket) AS ordered
