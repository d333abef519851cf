-- No more rows, ever: it waits for who copies, and refuses who comes later. Called by spark_ingest.merging, before it drops what
-- does not count.
ALTER TABLE {staging} ADD CONSTRAINT closed CHECK (false) NOT VALID
