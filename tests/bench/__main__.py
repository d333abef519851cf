"""`make bench`: what the queue does, beside its yardsticks, in one run. Figures are this machine's; ratios travel.

python -m tests.bench [SCENE...] [--quick]
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.cluster import ROOT, running_cluster

LONG = {"huge"}  # ten million rows: asked for by name


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0])
    scenes = "throughput, lane, lanes, dead, claim, latency, ingest, admin, bulk, memory, release, poll, stream, jobs"
    names = f"{scenes}; all by default; and huge, which is memory with ten million rows"
    parser.add_argument("scenes", nargs="*", help=names)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work: to see that it runs")
    options = parser.parse_args()
    with running_cluster(HOOK0_ENVIRONMENT="development") as cluster, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DATABASE_URL": cluster.server.url, "DJANGO_SETTINGS_MODULE": "hook0.settings"}
        port_file = Path(folder) / "port"
        cluster.start("tests/bench/sink.py", str(port_file))
        while not port_file.exists() or not port_file.read_text():
            time.sleep(0.05)
        return run(cluster, f"http://127.0.0.1:{port_file.read_text()}", options)


def run(cluster, sink: str, options: argparse.Namespace) -> int:
    import django  # noqa: PLC0415 - its settings want the cluster's URL

    django.setup()
    # The pumps here are awake, and there is no broker to ring.
    for name in ("delivery.doorbell", "delivery.waking", "kombu"):
        logging.getLogger(name).setLevel(logging.ERROR)
    from tests.bench import admin, bulk, pulling, queueing, released, report, scenes  # noqa: PLC0415
    from tests.bench.stage import Stage  # noqa: PLC0415

    part = 0.1 if options.quick else 1.0
    known: dict[str, Callable[[Stage], Iterator[scenes.Row]]] = {
        "throughput": partial(scenes.throughput, events=int(40_000 * part)),
        "lane": partial(scenes.one_lane, events=int(400 * part)),
        "lanes": partial(scenes.many_lanes, lanes=1000, events=int(30_000 * part)),
        "dead": partial(scenes.dead_endpoints, seconds=20 * part, rounds=3),
        "claim": partial(scenes.claim_cost, sizes=[10**n for n in range(3, 6 if options.quick else 8)]),
        "latency": partial(scenes.latency, seconds=20 * part),
        "ingest": partial(scenes.ingests, seconds=20 * part),
        "admin": partial(admin.slowest_pages, rows=int(1_000_000 * part)),
        "bulk": partial(bulk.bulk, rows=int(1_000_000 * part)),
        "memory": partial(bulk.memory, sizes=[int(10**5 * part), int(10**6 * part)]),
        "release": partial(released.releases, seconds=20 * part, rounds=3),
        "poll": partial(pulling.polls, events=int(20_000 * part)),
        "stream": partial(pulling.waiting, streams=int(1_000 * part), events=int(400 * part)),
        "jobs": partial(queueing.jobs, count=int(20_000 * part)),
        "huge": partial(bulk.memory, sizes=[int(10**5 * part), int(10**7 * part)]),
    }
    rows = []
    for name in options.scenes or [name for name in known if name not in LONG]:
        for row in known[name](Stage(cluster, sink)):
            rows.append(row)
            sys.stdout.write(report.line(row) + "\n")
            sys.stdout.flush()
    folder = ROOT / "var" / "bench"
    report.write(folder, rows)
    sys.stdout.write(f"\nWritten to {folder}/bench.json and bench.svg\n")
    return int(any(row.ok is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
