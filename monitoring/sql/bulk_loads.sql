-- Bulk loads by state. Called by monitoring.snapshot. There is a row for each load, so the table is small.
SELECT state, count(load.id) AS hook0_bulk_loads
  FROM unnest(ARRAY['loading', 'merging', 'ready', 'releasing', 'paused', 'done', 'cancelled', 'failed']) AS s (state)
  LEFT JOIN bulk_load load USING (state)
 GROUP BY state
