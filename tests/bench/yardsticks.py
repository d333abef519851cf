"""What the product is measured beside, as processes of their own.

yardsticks.py bare URL COUNT      the product's sender and window, signing, without a database
yardsticks.py naive DATABASE_URL  a worker that claims one row and holds the transaction open while it sends
"""

import ipaddress
import os
import sys
import threading
import time
import uuid
from datetime import UTC, datetime

import django
import psycopg
import requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")
django.setup()

from delivery.claimed import Claimed  # noqa: E402 - they need the settings
from delivery.sender import Sender  # noqa: E402
from delivery.webhook import build_request  # noqa: E402

WINDOW = 256
NAIVE_THREADS = 16


def a_claim(url: str) -> Claimed:
    now = datetime.now(UTC)
    return Claimed(
        delivery_id=uuid.uuid4(), event_pk=1, subscription_id=uuid.uuid4(), lane_id=None, lane_seq=None, epoch=1,
        tries=1, try_number=1, created_at=now, due_at=now, is_cancelled=False, wait=0.0,
        leased_at=0.0, visit_began=0.0,
        event_id=uuid.uuid4(), event_type="bench.event.sent", payload=b"x" * 1000, payload_content_type="text/plain",
        received_at=now, deliver_at=None, backoff_schedule=None, traceparent=None, tracestate=None,
        application_id=uuid.uuid4(), is_paused=False, method="POST", url=url, headers={},
        previous_secret=None, secret=uuid.uuid4(),
        timeout_ms=15_000, fifo_mode=False, fifo_on_exhausted="advance", retry_policy=None, limited=False,
        failing=False,
    )  # fmt: skip


def bare(url: str, count: str) -> None:
    """As many requests as there would be deliveries."""
    sender: Sender[int] = Sender(allowed=[ipaddress.ip_network("127.0.0.0/8")])
    claimed, started, ended = a_claim(url), 0, 0
    while ended < int(count):
        while sender.in_flight < WINDOW and started < int(count):
            sender.start(build_request(claimed, timestamp=int(time.time())), started)
            started += 1
        ended += len(sender.wait(0.05))


CLAIM_ONE = """
SELECT a.id, e.event_id, e.event_type, e.payload, s.url FROM request_attempt a JOIN event e ON e.id = a.event_id
  JOIN subscription s ON s.id = a.subscription_id
 WHERE a.lane_id IS NULL AND a.lease_until IS NULL AND a.due_at <= now()
 ORDER BY a.created_at LIMIT 1 FOR UPDATE OF a SKIP LOCKED
"""


def naive(database_url: str) -> None:
    """Until nothing is left: one row, one transaction, one request at a time in each thread."""
    threads = [threading.Thread(target=_naive, args=(database_url,)) for _ in range(NAIVE_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _naive(database_url: str) -> None:
    session = requests.Session()
    session.trust_env = False
    with psycopg.connect(database_url) as connection:
        connection.execute("SET enable_seqscan = off")
        while True:
            with connection.transaction():
                row = connection.execute(CLAIM_ONE).fetchone()
                if row is None:
                    return
                delivery, event_id, event_type, payload, url = row
                answer = session.post(
                    url, data=payload, headers={"X-Event-Id": str(event_id), "X-Event-Type": event_type}, timeout=15
                )
                if answer.ok:
                    connection.execute("DELETE FROM request_attempt WHERE id = %s", (delivery,))


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        bare(*sys.argv[2:])
    else:
        naive(*sys.argv[2:])
