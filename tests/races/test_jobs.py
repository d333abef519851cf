"""Jobs under competition: several processes that stream, producers side by side, and workers that are killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

import pytest
from django.conf import settings
from django.db import connection

from delivery.jobs import NewJob, Queue
from delivery.jobs.maintenance import take_lapsed_jobs
from delivery.jobs.queues import create_queue
from tests.cluster import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS, PLACES, PRODUCERS, KEYS = 4, 3, 3, 6
JOBS = 80  # of each producer
KILLS = 4
PATIENCE = 120.0


class Workers:
    """Processes that work, and what they have said."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._running: list[subprocess.Popen] = []
        self._started = 0
        self._lock = threading.Lock()
        self.said: list[tuple[float, str, str, str]] = []

    def start(self) -> None:
        self._started += 1
        name = f"worker-{self._started}"
        url = f"{settings.DATABASE_URL.rpartition('/')[0]}/{connection.settings_dict['NAME']}"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.races.job_worker", str(self._queue.id), name, str(PLACES)],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        self._running.append(process)
        threading.Thread(target=self._listen, args=[process, name], daemon=True).start()

    def _listen(self, process, name) -> None:
        for line in process.stdout:
            if line.count(" ") == 2 and line.endswith("\n"):  # the last words of one that is killed may be cut off
                what, job, moment = line.split()
                with self._lock:
                    self.said.append((float(moment), what, job, name))

    def kill(self, number: int = 0) -> None:
        process = self._running.pop(number)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        while self._running:
            self.kill()


@pytest.fixture
def workers(request):
    started = []

    def start(queue: Queue, count: int = WORKERS) -> Workers:
        started.append(Workers(queue))
        for _ in range(count):
            started[0].start()
        return started[0]

    yield start
    for each in started:
        each.end()


def produce(queue: Queue) -> list[threading.Thread]:
    """Each producer has keys of its own, so that the order of its calls is the order of its keys."""

    def run(producer: int) -> None:
        dice = random.Random(producer)
        for number in range(0, JOBS, 4):
            keys = [f"{producer}-{dice.randrange(KEYS)}" for _ in range(4)]
            ids = [f"{key}:{number + n}" for n, key in enumerate(keys)]
            jobs = zip(ids, keys, strict=True)
            queue.enqueue_many([NewJob(id_, key=key if queue.is_fifo else None) for id_, key in jobs])
            time.sleep(dice.uniform(0, 0.02))
        connection.close()

    threads = [threading.Thread(target=run, args=[producer]) for producer in range(PRODUCERS)]
    for thread in threads:
        thread.start()
    return threads


def run_all(queue: Queue, workers: Workers, *, kills: int = 0) -> None:
    """Until all is done; each time that another part of it is, a worker is killed."""
    producers = produce(queue)
    deadline = time.monotonic() + PATIENCE
    while (done := queue.statistics().completed_jobs) < PRODUCERS * JOBS:
        assert time.monotonic() < deadline, queue.statistics()
        take_lapsed_jobs()
        if kills and done >= PRODUCERS * JOBS * (1 - kills / (KILLS + 1)):
            kills -= 1
            workers.kill()
        time.sleep(0.02)
    assert kills == 0
    for thread in producers:
        thread.join()


def check_order(said) -> None:
    """Of each key, jobs began in the order of their numbers, and none while another was at work."""
    ran, last = defaultdict(list), {}
    for _, what, job, _ in sorted(said):
        key, _, number = job.partition(":")
        if what == "begun" and (not ran[key] or ran[key][-1] != int(number)):
            ran[key].append(int(number))
            assert last.get(key) != "begun", f"{job} began before the one before had ended"
        last[key] = what
    for numbers in ran.values():
        assert numbers == sorted(set(numbers)), "out of order, or begun again after another"


def test_each_job_goes_to_one_of_many(application, workers):
    queue = Queue(create_queue(application.id, "plain"))
    working = workers(queue)
    run_all(queue, working)
    begun = Counter(job for _, what, job, _ in working.said if what == "begun")
    assert len(begun) == PRODUCERS * JOBS
    assert sum(begun.values()) == PRODUCERS * JOBS + queue.statistics().total_retries
    assert "late" not in {what for _, what, _, _ in working.said}
    assert len({worker for *_, worker in working.said}) == WORKERS
    with pytest.raises(AssertionError, match=r"began before|out of order"):
        check_order(working.said)  # nobody asked for order here: the checker sees that there is none


def test_of_each_key_one_runs_at_a_time_in_order_whoever_is_killed(application, workers):
    queue = Queue(create_queue(application.id, "fifo", is_fifo=True, lease_seconds=2))
    working = workers(queue, WORKERS + KILLS)
    run_all(queue, working, kills=KILLS)
    check_order(working.said)
    assert len({job for _, what, job, _ in working.said if what == "begun"}) == PRODUCERS * JOBS
