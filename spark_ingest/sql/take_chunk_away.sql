-- Delete a load's last chunk, and say which events it has brought. Called by spark_ingest.loads until none is left. Served by the
-- primary keys.
DELETE FROM bulk_load_chunk
 WHERE (load_id, number) = (
   SELECT c.load_id, max(c.number) FROM bulk_load_chunk c JOIN bulk_load l ON l.id = c.load_id
    WHERE c.load_id = %(load)s AND l.run = %(run)s AND l.state IN ('loading', 'merging')
    GROUP BY c.load_id)
RETURNING coalesce(events, '{{}}')
