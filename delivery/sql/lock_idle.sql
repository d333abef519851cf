-- Of subscriptions that gave less than they might, those that no publisher is just adding to. Called by delivery.queue.
-- Publishers hold FOR KEY SHARE until their deliveries are visible; while one does, the row must not go to sleep.
SELECT subscription_id FROM subscription_state
 WHERE subscription_id = ANY (%(subscriptions)s::uuid[])
 FOR UPDATE SKIP LOCKED
