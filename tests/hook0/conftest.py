import pytest

from delivery.jobs import NewJob
from delivery.jobs import Queue as JobQueue
from delivery.jobs.queues import create_queue
from delivery.models import AttemptLog, DeadLetter, Lane
from delivery.outcome import Outcome
from delivery.pull import Wanted, poll
from delivery.queue import Ended
from delivery.retry import Decision
from events.models import BulkLoad, Replay, Undelivered
from tenants.credentials import create_application_secret, create_service_token
from tests.factories import EVENT_TYPE, make_application, make_fifo, make_subscription, publish


@pytest.fixture
def tenant(transactional_db, queue):
    """A tenant that has something of everything; where each parameter of a path leads."""
    application = make_application()
    subscription, fifo = make_subscription(application), make_fifo(application)
    (event,) = publish(application)
    given_up = Decision("dead", reason="gone"), Outcome("E_HTTP", http_status=410)
    queue.record([Ended(claimed, *given_up) for claimed in queue.claim(9)])
    publish(application)
    replay = Replay.objects.create(
        application=application, since=event.received_at, until=event.received_at, only_failed=True, actor="me",
        cursor_received_at=event.received_at,
    )  # fmt: skip
    load = BulkLoad.objects.create(application=application, state="ready")
    jobs = JobQueue(create_queue(application.id, "jobs"))
    pulling = make_subscription(application, target_type="pull", url="")
    publish(application)
    (pulled,) = poll(pulling, most=1, wanted=Wanted())
    attempt = AttemptLog.objects.filter(subscription=subscription).get()
    key = Undelivered.objects.create(
        application=application, path=["k"], event_id=event.event_id, event_type=EVENT_TYPE, payload=b"", reason="gone",
        payload_content_type="text/plain", subscription=subscription,
    )  # fmt: skip
    return application, {
        "application_id": application.id,
        "organization_id": application.organization_id,
        "subscription_id": subscription.id,
        "event_id": event.event_id,
        "name": EVENT_TYPE,
        "lane_id": Lane.objects.get(subscription=fifo).pk,
        "dead_letter_id": DeadLetter.objects.filter(subscription=subscription).get().pk,
        "replay_id": replay.pk,
        "bulk_load_id": load.pk,
        "job_queue_id": jobs.id,
        "job_id": jobs.enqueue(NewJob("a job")),
        "request_attempt_id": attempt.pk,
        "response_id": attempt.pk,
        "key_id": key.pk,
        "lease": str(pulled.receipt),
        "token": create_application_secret(application)[0].pk,
        "token_id": create_service_token(application.organization)[0].pk,
    }
