-- Which of some events the application has. Called by spark_ingest.verdicts. Served by event_once_per_application.
SELECT event_id FROM event WHERE application_id = %(application)s AND event_id = ANY (%(ids)s::uuid[])
