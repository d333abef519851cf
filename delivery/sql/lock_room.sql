-- How many deliveries a subscription without order may still lease to its consumers, who take turns. Called by
-- delivery.pull, first of four statements in one transaction, which does not wait for the disk (lease_lanes.sql says why).
-- Served by the primary keys.
SELECT greatest(0, s.max_in_flight - st.in_flight), set_config('synchronous_commit', 'off', true)
  FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
 WHERE st.subscription_id = %(subscription)s::uuid AND NOT st.fifo_mode AND NOT s.is_paused
 FOR NO KEY UPDATE OF st
