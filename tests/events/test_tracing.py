"""The trace of an event: from the request that brought it to its webhooks."""

import uuid

import pytest

from events.models import Event
from events.tracing import Trace, read_trace
from tests.clients import as_application
from tests.factories import EVENT_TYPE, make_fifo, make_subscription

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"


@pytest.mark.parametrize(
    ("headers", "trace"),
    [
        ({}, Trace()),
        ({"traceparent": PARENT}, Trace(PARENT)),
        ({"traceparent": PARENT, "tracestate": STATE}, Trace(PARENT, STATE)),
        ({"traceparent": f" {PARENT} ", "tracestate": ""}, Trace(PARENT)),
        ({"tracestate": STATE}, Trace()),
        ({"traceparent": PARENT.upper(), "tracestate": STATE}, Trace()),
        ({"traceparent": f"{PARENT}-more"}, Trace()),
        ({"traceparent": f"cc{PARENT[2:]}-more"}, Trace(PARENT)),
        ({"traceparent": f"cc{PARENT[2:]}"}, Trace(PARENT)),
        ({"traceparent": f"cc{PARENT[2:]}more"}, Trace()),
        ({"traceparent": f"ff{PARENT[2:]}"}, Trace()),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, Trace()),
        ({"traceparent": f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01"}, Trace()),
        ({"traceparent": PARENT, "tracestate": "a=" + "x" * 511}, Trace(PARENT)),
        ({"traceparent": PARENT, "tracestate": "a=\x01"}, Trace(PARENT)),
    ],
)
def test_a_trace_is_read_as_the_specification_says(headers, trace):
    assert read_trace(headers) == trace


def event(**more):
    return {
        "event_type": EVENT_TYPE, "payload": "x", "payload_content_type": "text/plain",
        "occurred_at": "2026-01-01T00:00:00Z", "labels": {"shop": "1"}, **more,
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [make_subscription, make_fifo], ids=["loose", "fifo"])
def test_the_webhook_carries_the_trace_of_its_event(application, make, pump, receiver):
    theirs = {"Traceparent": "mine", "X-Custom": "yes"}
    make(application, url=f"http://127.0.0.1:{receiver.port}/", headers=theirs)
    api = as_application(application)
    body = {"application_id": application.id, **event()}
    assert api.post("/event/", body, traceparent=PARENT, tracestate=STATE).status_code == 201
    assert api.post("/event/", body, traceparent="nonsense").status_code == 201
    pump.run()
    traced, untraced = receiver.received
    assert (traced.headers["traceparent"], traced.headers["tracestate"]) == (PARENT, STATE)
    assert traced.headers["x-custom"] == "yes"
    assert "traceparent" not in traced.headers["x-hook0-signature"]
    assert (untraced.headers["traceparent"], untraced.headers.get("tracestate")) == ("mine", None)


@pytest.mark.django_db(transaction=True)
def test_all_events_of_a_batch_belong_to_the_trace_of_its_request(application):
    api = as_application(application)
    body = {"application_id": application.id, "events": [event(event_id=str(uuid.uuid4())), event()]}
    assert api.post("/events/", body, traceparent=PARENT).status_code == 200
    assert list(Event.objects.values_list("traceparent", "tracestate")) == [(PARENT, None)] * 2
