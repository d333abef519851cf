-- Say that a pump with free slots looks for work until then. Called by delivery.pump, a few times a second at most.
UPDATE pump_beacon SET awake_until = clock_timestamp() + %(seconds)s * interval '1 s'
 WHERE awake_until < clock_timestamp() + %(seconds)s / 2 * interval '1 s'
