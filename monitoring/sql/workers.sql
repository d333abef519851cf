-- The pumps that are alive, by the name they were started with; `everybody` are those without one. Called by
-- monitoring.snapshot.
SELECT known.name AS worker, count(pump.process) AS hook0_worker_pumps
  FROM (SELECT name FROM worker UNION ALL SELECT 'everybody' ORDER BY 1 LIMIT 200) AS known
  LEFT JOIN running_pump pump ON coalesce(pump.worker, 'everybody') = known.name AND pump.seen_at > now() - interval '30 s'
 GROUP BY known.name
