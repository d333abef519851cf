"""A worker of jobs in a process of its own, which is killed at times: job_worker.py QUEUE NAME PLACES

It writes a line for what it begins and ends: `begun`, the job's id, when; and `ended`.
"""

import os
import random
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")
django.setup()

from delivery.jobs import Queue  # noqa: E402
from delivery.jobs.models import JobQueue  # noqa: E402
from delivery.problems import JobConflict  # noqa: E402


def say(what: str, job: str) -> None:
    sys.stdout.write(f"{what} {job} {time.time()}\n")
    sys.stdout.flush()


def work(queue_id: str, name: str, places: str) -> None:
    queue, dice = Queue(JobQueue.objects.get(pk=queue_id)), random.Random(name)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with queue.stream(name, max_assigned=int(places)) as stream:
        for jobs in stream:
            for job in jobs:
                say("begun", job.id)
                time.sleep(dice.uniform(0, 0.01))
                say("ended", job.id)  # before it is told: nobody can begin the next one earlier
                try:
                    queue.fail(job.id, "by chance") if dice.random() < 0.1 else queue.complete(job.id)
                except JobConflict:  # it was taken back meanwhile
                    say("late", job.id)


if __name__ == "__main__":
    work(*sys.argv[1:])
