"""Counters of many processes, which come and go: what a scrape sees never goes back."""

import os
import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from monitoring.graves import MachineCounters

COUNT = """
import os, sys
from prometheus_client import Counter, Histogram
tries = Counter("tries_total", "Tries.", ["error"])
seconds = Histogram("seconds", "Seconds.", buckets=(1, 10))
"""
# As Celery's workers: the parent has opened its files, the children count.
IN_CHILDREN = """
tries.labels("none").inc()
for _ in range(3):
    if not os.fork():
        tries.labels("none").inc(2)
        os._exit(0)
for _ in range(3):
    os.wait()
"""
COUNT_AND_WAIT = """
tries.labels("none").inc(5)
seconds.observe(0.5)
seconds.observe(5)
print("counted", flush=True)
sys.stdin.read()
"""


def start(folder, script, **options):
    return subprocess.Popen(
        [sys.executable, "-c", COUNT + script],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
        text=True,
        **options,
    )


def run(folder, script) -> None:
    assert start(folder, script).wait(60) == 0


def scrape(counters: MachineCounters) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(counters)
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


@pytest.fixture
def counters(tmp_path):
    return MachineCounters(tmp_path)


def test_what_children_count_is_added_to_what_their_parent_counted(tmp_path, counters):
    run(tmp_path, IN_CHILDREN)
    assert scrape(counters)['tries_total{error="none"}'] == 7


def test_counters_of_the_dead_stay_in_one_file_of_each_kind(tmp_path, counters):
    for amount in (1, 2, 3):
        run(tmp_path, f"tries.labels('E_HTTP').inc({amount}); seconds.observe({amount})")
        scrape(counters)
    assert scrape(counters)['tries_total{error="E_HTTP"}'] == 6
    assert sorted(file.name for file in tmp_path.iterdir()) == ["counter_dead.db", "histogram_dead.db"]


def test_a_process_counts_the_same_alive_dead_and_buried(tmp_path, counters):
    run(tmp_path, "tries.labels('none').inc(); seconds.observe(20)")
    with start(tmp_path, COUNT_AND_WAIT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "counted\n"
        alive = scrape(counters)
        assert (tmp_path / f"counter_{process.pid}.db").exists()
    dead, buried = scrape(counters), scrape(counters)
    assert alive == dead == buried
    assert alive['tries_total{error="none"}'] == 6
    assert {name: value for name, value in alive.items() if name.startswith("seconds")} == {
        'seconds_bucket{le="1.0"}': 1,
        'seconds_bucket{le="10.0"}': 2,
        'seconds_bucket{le="+Inf"}': 3,
        "seconds_count": 3,
        "seconds_sum": 25.5,
    }


def test_a_process_that_was_killed_keeps_what_it_counted(tmp_path, counters):
    with start(tmp_path, COUNT_AND_WAIT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()
    assert scrape(counters)['tries_total{error="none"}'] == 5
