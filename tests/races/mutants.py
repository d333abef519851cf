"""Queues that are broken on purpose. Each takes one thought out of the real one; the checker must notice."""

from delivery import queue, statements

MUTANTS = {
    # Whoever finishes moves the lane, even if the lease has gone to another.
    "no_fence": {
        "record_lanes": [
            ("AND l.epoch = r.epoch AND l.head_seq = r.lane_seq", ""),
            ("AND a.lane_seq = m.lane_seq AND m.leaves", "AND a.lane_seq = m.head_seq - 1 AND m.leaves"),
        ],
    },
    # A claim looks at lanes, and neither locks nor leases them.
    "no_lane_lock": {
        "claim_lanes": [
            ("phase = 1 AND ready_at <=", "phase IN (1, 2) AND coalesce(ready_at, '-infinity') <="),
            ("AND ready_at >= %(low)s::timestamptz", "AND %(low)s::timestamptz IS NOT NULL"),
            ("FOR NO KEY UPDATE SKIP LOCKED", ""),
            ("epoch = new_epoch(), ready_at = NULL", "ready_at = NULL"),
        ],
    },
    # The head is what has the earliest timestamp, by a clock that is as coarse as many are.
    "created_at_order": {
        "heads": [
            (
                "JOIN request_attempt a USING (lane_id, lane_seq)",
                """CROSS JOIN LATERAL (
                     SELECT b.* FROM request_attempt b JOIN event e ON e.id = b.event_id
                      WHERE b.lane_id = claim.lane_id
                      ORDER BY date_trunc('second', e.received_at), e.event_id LIMIT 1) AS a""",
            ),
        ],
        "record_lanes": [
            ("AND l.head_seq = r.lane_seq", ""),
        ],
    },
    # A lane that goes on forgets itself now and then.
    "sleepy": {
        "record_lanes": [
            ("WHEN stays THEN 2", "WHEN stays AND random() < 0.5 THEN 2"),
            (
                "CASE WHEN s.leaves THEN 0 ELSE s.wait END",
                "CASE WHEN NOT s.leaves THEN s.wait WHEN random() < 0.03 THEN 14 ELSE 0 END",
            ),
        ],
    },
}


def break_queue(name: str) -> None:
    """Make every later statement of this process the mutant's."""
    real = statements.statement
    texts: dict[str, str] = {}
    for file, changes in MUTANTS[name].items():
        text = real(file)
        for old, new in changes:
            assert old in text, f"{file}.sql has changed: mutant {name} no longer fits"
            text = text.replace(old, new)
        texts[file] = text
    queue.statement = lambda file: texts.get(file) or real(file)  # type: ignore[assignment, attr-defined]
