-- Lanes with deliveries that their heads have passed: whoever moved them broke off. Called by delivery.maintenance, now
-- and then: it looks at every lane. Served by attempt_once_per_number.
SELECT l.id FROM fifo_subscription_state l
 WHERE EXISTS (SELECT FROM request_attempt a WHERE a.lane_id = l.id AND a.lane_seq < l.head_seq)
