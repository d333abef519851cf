-- Tell whoever waits for a key that there may be something for it. Called by delivery.waking. A word that is lost with a
-- crash of the database costs a second: the commit does not wait for the disk.
SELECT pg_notify('hook0_work', %(word)s), set_config('synchronous_commit', 'off', true)
