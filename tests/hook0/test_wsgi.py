import threading

from django.db import connection

from hook0 import wsgi
from subscriptions.models import SubscriptionState
from tests.clients import as_application
from tests.factories import EVENT_TYPE, make_application, make_subscription, publish

EVENT = {
    "event_type": EVENT_TYPE,
    "payload": "{}",
    "payload_content_type": "application/json",
    "occurred_at": "2026-01-02T03:04:05Z",
    "labels": {"shop": "1"},
}


def test_a_request_that_waits_for_a_lock_gives_up_its_thread(transactional_db, open_connection):
    """Else somebody's long transaction would hold up all applications, one thread after the other."""
    assert callable(wsgi.application)
    application = make_application()
    make_subscription(application)
    publish(application)  # makes the event type, too
    api, answers = as_application(application), []

    def send():
        connection.close()  # one of the tests' own may be older than the server's settings
        answers.append(api.post("/event/", {"application_id": application.id, **EVENT}))
        connection.close()

    somebody = open_connection()
    with somebody.transaction():
        somebody.execute("SELECT FROM subscription_state FOR UPDATE")
        request = threading.Thread(target=send)
        request.start()
        request.join(30)
        assert not request.is_alive()
    assert [answer.status_code for answer in answers] == [503]
    assert answers[0].json()["id"] == "ServiceUnavailable"
    assert answers[0]["Retry-After"] == "5"
    assert SubscriptionState.objects.count() == 1
