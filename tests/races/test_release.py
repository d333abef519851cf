"""Workers that release a bulk load and are killed: each event goes once, and in the order of the load."""

import random
import time

EVENTS, CHUNK, PER_SECOND = 3_000, 500, 1_000
LOAD = """
WITH load AS (
  INSERT INTO bulk_load (id, application_id, state, events_count, rows_merged, rows_read, chunks, per_second)
  VALUES (gen_random_uuid(), %s, 'ready', %s, %s, %s, %s, %s) RETURNING id
),
added AS (
  INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at,
                     priority, ordering_key)
  SELECT gen_random_uuid(), %s, 'races.event.sent', '{}', 'application/json', '{}', '{}', now(), 30, (n %% 3)::text
    FROM generate_series(0, %s - 1) AS n
  RETURNING id
),
numbered AS (SELECT id, (row_number() OVER (ORDER BY id DESC) - 1) / %s AS number FROM added)
INSERT INTO bulk_load_chunk (load_id, number, until_occurred_at, until_place, events)
SELECT load.id, number, now(), 0, array_agg(numbered.id ORDER BY numbered.id DESC)
  FROM numbered, load
 GROUP BY load.id, number
"""
NUMBERS = "SELECT lane_id, lane_seq, event_id FROM request_attempt ORDER BY lane_id, lane_seq"


def test_a_release_whose_workers_are_killed_goes_on_where_it_was(arena):
    application = arena.subscribe()
    counts = (EVENTS, EVENTS, EVENTS, -(-EVENTS // CHUNK), PER_SECOND)
    arena.query(LOAD, application, *counts, application, EVENTS, CHUNK)
    dice, kills = random.Random(3), 0
    workers = [arena.start("tests/races/process.py", "release") for _ in range(2)]
    ends = time.monotonic() + 90
    while arena.query("SELECT 1 FROM bulk_load WHERE state <> 'done'"):
        assert time.monotonic() < ends
        time.sleep(dice.uniform(0.1, 0.5))
        if arena.query("SELECT 1 FROM bulk_load WHERE events_released > 0 AND state <> 'done'"):
            index = dice.randrange(len(workers))
            workers[index].kill()
            workers[index].wait()
            workers[index] = arena.start("tests/races/process.py", "release")
            kills += 1
    assert kills > 2
    made = arena.query(NUMBERS)
    assert len({event for *_, event in made}) == len(made) == EVENTS
    lanes = {lane: [row for row in made if row[0] == lane] for lane, *_ in made}
    assert len(lanes) == 3
    for rows in lanes.values():
        assert [number for _, number, _ in rows] == list(range(1, len(rows) + 1))
        assert [event for *_, event in rows] == sorted((event for *_, event in rows), reverse=True)
