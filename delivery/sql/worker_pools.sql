-- The pools that a named worker serves: those it is in, and if it is public everybody's. Called by delivery.queue.
SELECT 0 FROM worker WHERE name = %(worker)s AND is_public
 UNION ALL
SELECT pool.id FROM worker_pool pool JOIN worker ON worker.id = ANY (pool.workers) WHERE worker.name = %(worker)s
