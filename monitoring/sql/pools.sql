-- Who serves what: the pumps that are alive for each pool of workers, and how long its oldest due work has waited: everybody's
-- pool and those whose work has waited for the longest one by one, and all others as one. Clients choose which workers make
-- a pool, and pools stay. Called by monitoring.snapshot. Served by lane_ready and subscription_ready, one probe for each
-- pool.
WITH pool AS (
  SELECT 0 AS id, 'everybody' AS name, NULL::int[] AS workers
   UNION ALL
  SELECT p.id, (SELECT string_agg(w.name, '+' ORDER BY w.name) FROM worker w WHERE w.id = ANY (p.workers)), p.workers
    FROM worker_pool p
),
alive AS (
  SELECT pump.process, worker.id AS worker_id, pump.worker IS NULL OR worker.is_public AS for_everybody
    FROM running_pump pump LEFT JOIN worker ON worker.name = pump.worker
   WHERE pump.seen_at > now() - interval '30 s'
),
served AS (
  SELECT coalesce(pool.name, 'workers that are gone') AS pool,
         sum((SELECT count(*) FROM alive WHERE CASE WHEN pool.id = 0 THEN for_everybody ELSE worker_id = ANY (pool.workers) END)
         ) AS pumps,
         max(greatest(0, extract(epoch FROM now() - least(
           (SELECT ready_at FROM fifo_subscription_state l WHERE l.pool = pool.id AND phase = 1 ORDER BY ready_at LIMIT 1),
           (SELECT ready_at FROM subscription_state st
             WHERE st.pool = pool.id AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1)
         )), 0)) AS waited
    FROM pool
   GROUP BY 1
),
ranked AS (
  SELECT *, row_number() OVER (ORDER BY pool <> 'everybody', waited DESC, pool) AS rank FROM served
)
SELECT CASE WHEN rank <= %(most)s THEN pool ELSE 'other' END AS pool,
       sum(pumps)::int AS hook0_pumps, max(waited)::float AS hook0_oldest_due_seconds
  FROM ranked
 GROUP BY 1
