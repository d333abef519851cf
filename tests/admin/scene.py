"""An application in which everything has happened once."""

from datetime import UTC, datetime, timedelta
from typing import Any

from delivery.audit import Operator
from delivery.jobs import NewJob, Queue
from delivery.jobs.queues import create_queue
from delivery.lanes import pause, skip_head
from delivery.models import DeadLetter, Lane
from delivery.tallies import count_tries
from events import replays, undelivered
from events.models import BulkLoad
from hook0.receiver import Behaviour
from subscriptions.models import OrganizationWorker, Worker
from tenants.credentials import create_application_secret, create_service_token
from tenants.models import Application
from tests.factories import make_application, make_fifo, make_subscription, publish


def make_scene(pump: Any, receiver: Any, *, name: str = "Shop") -> Application:
    """Delivered, failed, pending, blocked, skipped, kept, replayed, loaded: every page has something to show."""
    application = make_application(name=name)
    by = Operator("somebody", "to see it")
    url = f"http://127.0.0.1:{receiver.port}/{application.pk}"
    receiver.behaviours[f"/{application.pk}/bad"] = Behaviour(status=500, body='{"error": "<b>no</b>"}')
    make_subscription(application, description=f"{name}: good", url=f"{url}/good")
    blocking = make_fifo(
        application,
        description=f"{name}: blocks",
        url=f"{url}/bad",
        fifo_on_exhausted="block",
        retry_policy={"schedule_ms": []},
    )
    publish(application, 3, keys_if_undelivered=[["failed-payments", name]])
    pump.run()
    lane = Lane.objects.get(subscription=blocking)
    skip_head(lane.pk, by=by)
    pause(lane.pk, by=by)
    letters = DeadLetter.objects.filter(subscription=blocking).select_related("event")
    undelivered.keep(undelivered.GivenUp(each.event, each.subscription_id, each.reason) for each in letters)
    worker = Worker.objects.create(name=f"worker-{application.pk}"[:50])
    OrganizationWorker.objects.create(organization=application.organization, worker=worker)
    create_application_secret(application, name="Spare")
    create_service_token(application.organization, name="Spare")
    replays.start(application_id=application.pk, since=datetime.now(UTC) - timedelta(hours=1), only_failed=False, by=by)
    BulkLoad.objects.create(application=application)
    jobs = Queue(create_queue(application.id, "jobs", is_fifo=True, retry_limit=0))
    jobs.enqueue(NewJob("blocks", key="a", definition=b'{"width": 320}', tags=["gpu"]))
    jobs.claim("worker-1")
    jobs.fail("blocks", "<b>no</b>")
    count_tries()
    return application
