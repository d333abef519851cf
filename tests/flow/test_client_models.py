"""Our answers, read by the models of the published client."""

import json

import pytest

from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from tests.clients import as_application
from tests.factories import make_application, make_fifo, make_subscription, publish
from tests.flow.test_first_webhook import with_hook0_client


@pytest.mark.django_db(transaction=True)
def test_the_models_of_the_client_read_events_attempts_responses_and_days(queue):
    application = make_application()
    make_subscription(application, description="the shop")
    make_fifo(application)
    (event,) = publish(application)
    failed, done = queue.claim(2)
    queue.record(
        [
            Ended(failed, Decision("retry", wait=60.0), Outcome(E_HTTP, http_status=500)),
            Ended(done, Decision("done"), Outcome(None, http_status=200, headers={"a": "b"}, body=b"ok", elapsed_ms=1)),
        ]
    )
    publish(application)
    queue.claim(1)
    api = as_application(application)

    def ask(path):
        return api.get(path, application_id=application.id).json()

    attempts = ask("/request_attempts/")
    answers = {
        "Event": ask("/events/"),
        "EventWithPayload": [ask(f"/events/{event.event_id}")],
        "RequestAttempt": attempts,
        "Response": [ask(f"/responses/{each['response_id']}") for each in attempts if each["response_id"]],
        "EventsPerDayEntry": ask("/events_per_day/application"),
    }
    read = with_hook0_client("decode", stdin=json.dumps(answers))
    assert read.returncode == 0, read.stderr
    assert len(read.stdout.splitlines()) == sum(len(documents) for documents in answers.values())
    for status in ("WAITING", "PENDING", "IN_PROGRESS", "SUCCESSFUL", "FAILED"):
        assert f"RequestAttemptStatusType.{status}" in read.stdout
