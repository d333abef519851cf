-- Of several rows with one id, the first in the order stays. Called by spark_ingest.merging; reads the table once where there are
-- none.
WITH twice AS MATERIALIZED (
  SELECT event_id FROM {staging} GROUP BY event_id HAVING count(*) > 1
)
DELETE FROM {staging}
 WHERE ctid IN (
   SELECT ctid
     FROM (SELECT s.ctid, row_number() OVER (PARTITION BY s.event_id ORDER BY s.occurred_at, s.place) AS occurrence
             FROM twice JOIN {staging} s USING (event_id)) AS same
    WHERE occurrence > 1)
