"""Events of hook0's own, from an endpoint that fails to the one of who wants to know: beat and workers as they run."""

import json

import pytest

from hook0.receiver import Behaviour
from tests.browser.stage import send, subscribe_blocking
from tests.flow.test_first_webhook import arrived, subscribe, with_hook0_client

pytestmark = pytest.mark.flow


def watch(product, receiver, path, about, event_types):
    """A subscription to what hook0 has to say about another."""
    return subscribe(
        product, receiver, path, event_types=event_types, labels={"subscription_id": about["subscription_id"]}
    )


def read_told(webhook, watching):
    """The type and the content of what was told, by who looks at the signature first."""
    as_json = json.dumps({"headers": dict(webhook.headers), "body": webhook.body})
    assert with_hook0_client("verify", watching["secret"], stdin=as_json).stdout == "genuine"
    return webhook.headers["x-event-type"], json.loads(webhook.body)


def test_what_is_given_up_is_told_elsewhere_and_so_is_the_recovery(product, receiver):
    receiver.behaviours["/given-up"] = Behaviour(status=404)
    failing = subscribe(
        product, receiver, "/given-up", labels={"demo": "given-up"}, retry_policy={"schedule_ms": [100]}
    )
    wanted = ["hook0.delivery.exhausted", "hook0.delivery.recovered"]
    watching = watch(product, receiver, "/told", failing, wanted)
    lost = send(product, "given-up")
    (first,) = arrived(receiver, "/told")
    event_type, told = read_told(first, watching)
    assert (event_type, told["subscription_id"]) == ("hook0.delivery.exhausted", failing["subscription_id"])
    assert (told["event_id"], told["event_type"]) == (lost, "demo.greeting.sent")
    assert (told["reason"], told["tries"], told["last_http_status"]) == ("exhausted", 2, 404)

    receiver.behaviours.clear()
    send(product, "given-up")
    _, second = arrived(receiver, "/told", 2)
    event_type, told = read_told(second, watching)
    assert (event_type, told["subscription_id"]) == ("hook0.delivery.recovered", failing["subscription_id"])


def test_a_lane_that_stops_is_told_elsewhere(product, receiver):
    receiver.behaviours["/stops"] = Behaviour(status=404)
    failing = subscribe_blocking(product, receiver, "stops")
    watching = watch(product, receiver, "/told-of-lanes", failing, ["hook0.*"])
    head, _ = send(product, "stops"), send(product, "stops")
    (webhook,) = arrived(receiver, "/told-of-lanes")
    event_type, told = read_told(webhook, watching)
    assert (event_type, told["subscription_id"]) == ("hook0.lane.blocked", failing["subscription_id"])
    assert (told["event_id"], told["last_http_status"]) == (head, 404)
