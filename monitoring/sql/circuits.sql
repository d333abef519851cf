-- Circuits that are not closed. Called by monitoring.snapshot. Served by subscription_tripped.
SELECT state, count(circuit.open) AS hook0_circuits
  FROM (VALUES ('open', true), ('probing', false)) AS s (state, open)
  LEFT JOIN (SELECT coalesce(circuit_until > now(), false) AS open FROM subscription_state WHERE allowance IS NOT NULL
  ) AS circuit USING (open)
 GROUP BY state
