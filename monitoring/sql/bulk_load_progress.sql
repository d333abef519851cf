-- How far the bulk loads have come that are not over, the last twenty. Called by monitoring.snapshot.
SELECT id AS load, progress / 100.0::float AS hook0_bulk_load_loaded_ratio,
       CASE WHEN events_count > 0 THEN events_released::float / events_count ELSE 0 END AS hook0_bulk_load_released_ratio,
       rows_merged AS hook0_bulk_load_rows_merged, events_released AS hook0_bulk_load_events_released
  FROM bulk_load
 WHERE finished_at IS NULL
 ORDER BY created_at DESC
 LIMIT 20
