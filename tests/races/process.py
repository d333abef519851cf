"""A worker or a publisher of its own process: what is killed, stopped and broken in these tests.

process.py work MUTANT                          a pump and its reaper, for ever
process.py publish APPLICATION SEED SECONDS     events for random keys, a line for each call
process.py release                              the releases of bulk loads, for ever
"""

import json
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import django
import orjson

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")
django.setup()

from django.db import Error, connection  # noqa: E402

from delivery import maintenance, worker  # noqa: E402
from delivery.claimed import Claimed  # noqa: E402
from delivery.queue import Ended, Queue  # noqa: E402
from events import release  # noqa: E402
from events.ingest import Columns, NewEvent, ingest  # noqa: E402
from tests.races.mutants import break_queue  # noqa: E402

KEYS = 12
STALLS, STALL_SECONDS = 0.01, 2.5  # a lease is two seconds here
THREADS = 2


def work(mutant: str) -> None:
    if mutant != "none":
        break_queue(mutant)
    _stall_now_and_then()
    threading.Thread(target=_reap, daemon=True).start()
    worker.pump(stopping=lambda: False, linger=float("inf"))


def _stall_now_and_then() -> None:
    """Outlive a lease between the answer and its record, as a process that was swapped out does."""
    record, dice = Queue.record, random.Random()

    def record_late(queue: Queue, ended: Sequence[Ended]) -> list[Claimed]:
        if dice.random() < STALLS:
            time.sleep(STALL_SECONDS)
        return record(queue, ended)

    Queue.record = record_late  # type: ignore[method-assign, assignment]


def _reap() -> None:
    while True:
        _whatever_the_database_does(maintenance.reap)
        time.sleep(0.2)


def release_loads() -> None:
    while True:
        _whatever_the_database_does(partial(release.work, stopping=lambda: False))
        time.sleep(0.05)


def publish(application: str, seed: str, seconds: str) -> None:
    until = time.monotonic() + float(seconds)
    threads = [
        threading.Thread(target=_publish, args=(uuid.UUID(application), random.Random(f"{seed}{n}"), until))
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _publish(application: uuid.UUID, dice: random.Random, until: float) -> None:
    while time.monotonic() < until:
        batch = [_event(dice) for _ in range(dice.choice([1, 1, 1, 5]))]
        invoked = time.time()
        answered = time.time() if _whatever_the_database_does(partial(ingest, application, batch)) else None
        marks = [orjson.loads(event.fields)["metadata"]["mark"] for event in batch]
        line = {"events": marks, "invoked": invoked, "answered": answered}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        time.sleep(dice.uniform(0, 0.06))


def _event(dice: random.Random) -> NewEvent:
    columns: Columns = {
        "event_type": "races.event.sent",
        "payload_content_type": "application/json",
        "labels": {"races": "yes"},
        "metadata": {"mark": str(uuid.uuid4())},  # told apart by this, as we draw half of the ids
        "occurred_at": datetime.now(UTC),
        "ordering_key": str(dice.randrange(KEYS)),
    }
    return NewEvent.of(b"{}", columns, uuid.uuid4() if dice.random() < 0.5 else None)


def _whatever_the_database_does(act: Callable[[], object]) -> bool:
    """Whether it was done; a database that is away is tried again by the caller."""
    try:
        act()
    except Error:
        connection.close()
        time.sleep(0.1)
        return False
    return True


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"work": work, "publish": publish, "release": release_loads}
    commands[sys.argv[1]](*sys.argv[2:])
