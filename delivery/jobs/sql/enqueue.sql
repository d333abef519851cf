-- Add jobs to a queue in their order; what it says of the ids that are there already is which ones are new. Called by
-- delivery.jobs.rows. In a FIFO queue nobody has a turn before promote.sql; in any other, everybody has it at once.
WITH new AS (
  INSERT INTO job (queue_id, job_id, status, type, definition, tags, key, has_turn, priority, retry_limit)
  SELECT q.id, j.id, 'INITIAL_PENDING', j.type, decode(j.definition, 'base64'),
         ARRAY(SELECT jsonb_array_elements_text(j.tags)), j.key, NOT q.is_fifo, j.priority,
         coalesce(j.retry_limit, q.retry_limit)
    FROM job_queue q,
         ROWS FROM (jsonb_to_recordset(%(jobs)s::jsonb) AS (
           id text, type text, definition text, tags jsonb, key text, priority smallint, retry_limit int
         )) WITH ORDINALITY AS j (id, type, definition, tags, key, priority, retry_limit, place)
   WHERE q.id = %(queue)s::uuid
   ORDER BY j.place
  ON CONFLICT (queue_id, job_id) DO NOTHING
  RETURNING job_id, tags, has_turn
)
SELECT job_id, (
         SELECT pg_notify('hook0_work', jobs_word(%(queue)s::uuid, jsonb_agg(DISTINCT to_jsonb(tags)), NULL))
           FROM new WHERE has_turn HAVING count(*) > 0
       )
  FROM new
