-- Add to what an application has sent today, in UTC, and say how much that makes. Called by events.quota, where quotas are
-- enforced, last thing before the fan-out: the row is locked to the commit. Served by the primary key.
INSERT INTO event_count AS c (application_id, day, amount)
VALUES (%(application)s::uuid, (now() AT TIME ZONE 'UTC')::date, %(amount)s)
ON CONFLICT (application_id, day) DO UPDATE SET amount = c.amount + excluded.amount
RETURNING amount
