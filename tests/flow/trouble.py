"""A running product with one of each kind of trouble, and a Prometheus that watches it."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import requests

from hook0.receiver import Behaviour, Receiver, start_in_thread
from tests.flow.conftest import Product
from tests.flow.prometheus import watching
from tests.flow.test_first_webhook import call

TYPE = "demo.greeting.sent"
SLOW_MS = 500  # of an endpoint that is sent more than that in order: a queue builds up
FAILING_JOBS = 12  # more than Hook0ExhaustedJobsGrow lets pass


class Watched:
    """The product with one of each kind of trouble, and Prometheus beside it."""

    def __init__(self, product, receiver, prometheus) -> None:
        self.product, self.receiver, self.prometheus = product, receiver, prometheus
        self._stop = threading.Event()
        self._traffic = threading.Thread(target=self._keep_sending)

    def subscribe(self, path: str, **overrides):
        label = path.strip("/")
        target = {
            "type": "http",
            "method": "POST",
            "url": f"http://127.0.0.1:{self.receiver.port}{path}",
            "headers": {},
        }
        return call(
            self.product, "POST", "subscriptions/",
            **{"is_enabled": True, "event_types": [TYPE], "labels": {"watch": label}, "target": target, **overrides},
        )["subscription_id"]  # fmt: skip

    def _load(self) -> None:
        """A bulk load that somebody has paused."""
        with psycopg.connect(self.product.credentials.database_url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO bulk_load (id, application_id, state, progress, rows_merged, events_count,"
                " events_released) VALUES (gen_random_uuid(), %s, 'paused', 100, 500, 500, 200)",
                [self.product.credentials.application_id],
            )

    def _queue_jobs(self) -> None:
        """A queue with a job that nobody asked for in two hours, and others that have just used up their retries."""
        self.job_queue = call(self.product, "POST", "job_queues/", name="left alone", retry_limit=0)["job_queue_id"]
        self._enqueue("left")
        with psycopg.connect(self.product.credentials.database_url, autocommit=True) as connection:
            connection.execute("UPDATE job SET created_at = now() - interval '2 hours'")
        # Before they fail, somebody must have seen that there were none.
        self.prometheus.wait_for('sum(hook0_queue_jobs{state="EXHAUSTED"}) == 0')
        self._enqueue(*self._failing, tags=["failing"])
        for job in self._claim(tags=["failing"]):
            call(self.product, "POST", f"job_queues/{self.job_queue}/jobs/{job}/fail/", error="no such file")

    @property
    def _failing(self) -> list[str]:
        return [f"failing-{number}" for number in range(FAILING_JOBS)]

    def _enqueue(self, *jobs: str, **more) -> None:
        new = [{"id": job, **more} for job in jobs]
        call(self.product, "POST", f"job_queues/{self.job_queue}/jobs/", jobs=new)

    def _claim(self, **more) -> list[str]:
        claim = {"assignee": "somebody", "limit": 100, **more}
        return [job["id"] for job in call(self.product, "POST", f"job_queues/{self.job_queue}/claim/", **claim)["jobs"]]

    def work_off_jobs(self) -> None:
        """As a worker that is back, and an operator who has looked at what failed."""
        for job in self._claim():
            call(self.product, "POST", f"job_queues/{self.job_queue}/jobs/{job}/complete/")
        call(self.product, "POST", f"job_queues/{self.job_queue}/delete_jobs/", ids=self._failing)

    def send(self, label: str, count: int = 1) -> None:
        for _ in range(count):
            call(self.product, "POST", "event/", **self._event(label))

    def _event(self, label: str, **more):
        return {
            "event_type": TYPE, "payload": "x", "payload_content_type": "text/plain",
            "occurred_at": "2026-01-01T00:00:00Z", "labels": {"watch": label}, **more,
        }  # fmt: skip

    def set_up(self) -> None:
        self.subscribe("/well")
        self.subscribe("/ordered", fifo_mode=True)
        self.receiver.behaviours["/slow"] = Behaviour(delay_ms=SLOW_MS)
        self.slow = self.subscribe("/slow", fifo_mode=True)
        self.receiver.behaviours["/held"] = Behaviour(status=500)
        self.held = self.subscribe("/held", fifo_mode=True)
        self.receiver.behaviours["/blocked"] = Behaviour(status=500)
        self.blocked = self.subscribe(
            "/blocked", fifo_mode=True, fifo_on_exhausted="block", retry_policy={"schedule_ms": [100]}
        )
        self.receiver.behaviours["/dead"] = Behaviour(status=404)  # no outage: no circuit opens
        self.subscribe("/dead", retry_policy={"schedule_ms": [100]})
        self.receiver.behaviours["/down"] = Behaviour(status=503)
        self.subscribe("/down", retry_policy={"schedule_ms": [100] * 20})
        self.send("down", 5)
        self.send("held", 3)
        self.send("blocked", 3)
        self._load()
        self._queue_jobs()
        self._traffic.start()

    def _keep_sending(self) -> None:
        """All that is there to be asked of the API, once and again, so that rates have something to show."""
        again = str(uuid.uuid4())
        credentials = self.product.credentials
        headers = {"Authorization": f"Bearer {credentials.application_secret}"}
        while not self._stop.wait(0.2):
            self.send("well")
            self.send("ordered")
            self.send("dead")
            self.send("slow", 2)
            events = [self._event("well"), self._event("well", event_id=again), {}]
            call(self.product, "POST", "events/", events=events)
            repeated = {"application_id": credentials.application_id, **self._event("well", event_id=again)}
            requests.post(f"{credentials.api_url}/event/", json=repeated, headers=headers, timeout=30)

    def stop(self) -> None:
        self._stop.set()
        self._traffic.join()


@contextmanager
def product_in_trouble(product: Product, folder: Path, *, at_once: bool) -> Iterator[Watched]:
    """Until the block ends. `at_once`: alerts do not wait for their conditions to last."""
    target = product.credentials.metrics_url.removeprefix("http://").removesuffix("/metrics")
    with watching(target, folder, at_once=at_once) as prometheus:
        watched = Watched(product, start_in_thread(Receiver()), prometheus)
        watched.set_up()
        try:
            yield watched
        finally:
            watched.stop()
