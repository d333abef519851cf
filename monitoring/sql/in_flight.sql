-- Deliveries under lease. Called by monitoring.snapshot. Served by lane_leased and attempt_leased: as many rows as
-- requests are under way.
SELECT 'fifo' AS "order", count(*) AS hook0_in_flight FROM fifo_subscription_state WHERE phase = 2
 UNION ALL
SELECT 'none', count(*) FROM request_attempt WHERE lease_until IS NOT NULL
