-- What the application may send. Called by spark_ingest.loads. Served by event_type_once_per_application.
SELECT name FROM event_type WHERE application_id = %(application)s AND deactivated_at IS NULL
   AND service <> 'hook0'
