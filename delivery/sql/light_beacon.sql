-- Say that a pump with free slots looks for work until then. Called by delivery.pump, a few times a second at most.
INSERT INTO pump_beacon AS b (id, awake_until) VALUES (1, clock_timestamp() + %(seconds)s * interval '1 s')
ON CONFLICT (id) DO UPDATE SET awake_until = excluded.awake_until
 WHERE b.awake_until < clock_timestamp() + %(seconds)s / 2 * interval '1 s'
