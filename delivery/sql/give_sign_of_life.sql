-- A pump is there. Called by delivery.queue every few seconds. Served by the primary key.
INSERT INTO running_pump (process, worker) VALUES (%(process)s, %(worker)s)
ON CONFLICT (process) DO UPDATE SET worker = excluded.worker, seen_at = clock_timestamp()
