-- Where each chunk begins and ends; rows of one place are in one chunk. Called by spark_ingest.merging. Served by the index of
-- sort_staging.sql, which is read once.
WITH numbered AS (
  SELECT occurred_at, place, row_number() OVER w AS n, lead(place) OVER w IS NULL AS is_last
    FROM {staging} WINDOW w AS (ORDER BY occurred_at, place)
),
ends AS (
  SELECT occurred_at, place, n FROM numbered WHERE n %% %(size)s = 0 OR is_last
)
INSERT INTO bulk_load_chunk (load_id, number, after_occurred_at, after_place, until_occurred_at, until_place)
SELECT %(load)s, %(first)s - 1 + row_number() OVER w,
       lag(occurred_at) OVER w, lag(place) OVER w, occurred_at, place
  FROM ends WINDOW w AS (ORDER BY n)
