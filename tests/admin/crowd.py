"""An application with so much of everything that each list is full."""

from datetime import UTC, datetime, timedelta
from typing import Any

from delivery.audit import Operator
from delivery.jobs import NewJob, Queue
from delivery.jobs.queues import create_queue
from delivery.lanes import skip_head
from delivery.models import DeadLetter, Lane, RunningPump
from events import replays, undelivered
from events.models import BulkLoad
from hook0.receiver import Behaviour
from monitoring.models import JobRound
from subscriptions.models import OrganizationWorker, Worker
from tenants.credentials import create_application_secret, create_service_token
from tenants.models import Application, EventType, Organization
from tests.factories import make_fifo, make_subscription, publish

BY = Operator("somebody", "to see it")


def make_crowd(application: Application, count: int, pump: Any, receiver: Any) -> None:
    """So many lanes that fail, dead letters, deliveries that wait, tries, jobs, and of all that is set up."""
    url = f"http://127.0.0.1:{receiver.port}/crowd"
    receiver.behaviours["/crowd"] = Behaviour(status=404)  # which opens no circuit
    failing = make_fifo(
        application, fifo_key="ordering_key", url=url, fifo_on_exhausted="block", retry_policy={"schedule_ms": []}
    )
    for number in range(count):
        publish(application, 3, ordering_key=str(number), keys_if_undelivered=[["failed", str(number)]])
    pump.run()
    for lane in Lane.objects.filter(subscription=failing):
        skip_head(lane.pk, by=BY)
    letters = DeadLetter.objects.filter(subscription=failing).select_related("event")
    undelivered.keep(undelivered.GivenUp(each.event, each.subscription_id, each.reason) for each in letters)
    queues = [create_queue(application.pk, f"queue {number}") for number in range(count)]
    Queue(queues[0]).enqueue_many([NewJob(str(number)) for number in range(count)])
    since = datetime.now(UTC) - timedelta(hours=1)
    for number in range(count):
        make_subscription(application, is_paused=True, description=f"number {number}")
        EventType.objects.create(application=application, service="crowd", resource_type="number", verb=str(number))
        organization = Organization.objects.create(name=f"Organization {number}")
        Application.objects.create(organization=organization, name=f"Application {number}")
        worker = Worker.objects.create(name=f"crowd-{number}")
        OrganizationWorker.objects.create(organization=application.organization, worker=worker)
        create_application_secret(application, name=f"Secret {number}")
        create_service_token(application.organization, name=f"Token {number}")
        replays.start(application_id=application.pk, since=since, only_failed=True, by=BY, subscription_id=failing.pk)
        BulkLoad.objects.create(application=application)
        RunningPump.objects.create(process=f"pump {number}")
        JobRound.objects.create(job=f"job {number}")
