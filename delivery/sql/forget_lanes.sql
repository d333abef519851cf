-- Forget lanes of keys that nothing came for in a long while: one row for each order or customer there ever was would
-- remain else. Called by delivery.maintenance, now and then: it may read them all. A publisher that meets one under our
-- lock makes it anew. The one lane of a subscription without a key stays.
DELETE FROM fifo_subscription_state
 WHERE id IN (
   SELECT id FROM fifo_subscription_state
    WHERE phase = 0 AND key <> '' AND updated_at < %(before)s::timestamptz
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED)
