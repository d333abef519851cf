-- Delete the events of a load's last chunk, and the chunk; none of them has a delivery yet. Called by spark_ingest.loads until
-- none is left. Served by the primary keys.
WITH chunk AS (
  DELETE FROM bulk_load_chunk
   WHERE (load_id, number) = (
     SELECT c.load_id, max(c.number) FROM bulk_load_chunk c JOIN bulk_load l ON l.id = c.load_id
      WHERE c.load_id = %(load)s AND l.run = %(run)s AND l.state IN ('loading', 'merging')
      GROUP BY c.load_id)
  RETURNING number, events
),
gone AS (
  DELETE FROM event WHERE id = ANY (ARRAY(SELECT unnest(events) FROM chunk))
)
SELECT number FROM chunk
