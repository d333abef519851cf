"""What the release of a bulk load does to live deliveries."""

from collections.abc import Iterator

from events.models import BulkLoad
from tests.bench.scenes import Row, publish
from tests.bench.stage import EVENT_TYPE, Stage, percentile, rate
from tests.factories import make_subscription

SUBSCRIPTIONS = 20
LIVE_PER_SECOND = 100
CHUNK = 5_000
FILL = """
WITH load AS (
  INSERT INTO bulk_load (id, application_id, state, events_count, rows_merged, rows_read, chunks)
  VALUES (gen_random_uuid(), %(application)s, 'paused', %(events)s, %(events)s, %(events)s, %(events)s / %(chunk)s)
  RETURNING id
),
added AS (
  INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at,
                     priority, ordering_key)
  SELECT gen_random_uuid(), %(application)s, %(type)s, convert_to(repeat('x', 1000), 'UTF8'), 'text/plain',
         jsonb_build_object('n', (n %% %(subscriptions)s)::text), '{}', now(), 30, n::text
    FROM generate_series(0, %(events)s - 1) AS n
  RETURNING id
),
numbered AS (
  SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(chunk)s AS number FROM added
)
INSERT INTO bulk_load_chunk (load_id, number, until_occurred_at, until_place, events)
SELECT load.id, number, now(), 0, array_agg(numbered.id ORDER BY numbered.id)
  FROM numbered, load
 GROUP BY load.id, number
"""


def releases(stage: Stage, *, seconds: float, rounds: int) -> Iterator[Row]:
    """The p99 of live deliveries while a load is released at its own pace, and while it is not, by turns."""
    application = stage.empty()
    for n in range(SUBSCRIPTIONS):
        make_subscription(application, url=stage.url("/ok"), event_types=["bench.*"], labels={"n": str(n)})
    events = CHUNK * max(1, int(5_000 * seconds * rounds / CHUNK))
    stage.fill(
        FILL, application=application.id, events=events, chunk=CHUNK, type=EVENT_TYPE, subscriptions=SUBSCRIPTIONS
    )

    def live(for_seconds: float) -> None:
        publish(application, per_second=LIVE_PER_SECOND, seconds=for_seconds, spread=SUBSCRIPTIONS)

    def set_state(state: str) -> None:
        BulkLoad.objects.update(state=state)
        live(seconds / 4)  # what is under way comes to its end, and the pace to where it settles
        stage.counts()

    took: dict[str, list[float]] = {"paused": [], "releasing": []}
    rates = []
    maintenance = stage.cluster.start("tests/bench/maintenance.py")
    with stage.pumps(2):
        set_state("releasing")
        for _ in range(rounds):
            for state in took:
                set_state(state)
                live(seconds)
                arrivals, found = stage.counts()
                took[state] += found
                if state == "releasing":
                    rates.append(rate(arrivals) - LIVE_PER_SECOND)
        BulkLoad.objects.update(per_second=1_000_000)
        set_state("releasing")
        live(seconds / 4)
        arrivals, unbridled = stage.counts()
    maintenance.terminate()
    maintenance.wait(60)
    before, during = (percentile(latencies, 0.99) for latencies in took.values())
    ratio = during / before
    yield Row("p99 of live deliveries, no release", before * 1000, "ms")
    yield Row("p99 while a load is released", during * 1000, "ms", "no release", ratio, 1.1, at_most=True)
    yield Row("a release at its own pace", sum(rates) / len(rates), "events/s")
    yield Row("p99 with no regard for live deliveries", percentile(unbridled, 0.99) * 1000, "ms", "no release",
              percentile(unbridled, 0.99) / before)  # fmt: skip
    yield Row("a release with no regard for them", rate(arrivals) - LIVE_PER_SECOND, "events/s")
