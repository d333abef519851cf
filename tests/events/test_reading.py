"""What is taken as an event: both readers, beside each other and the serializer that documents them."""

import uuid
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events import limits
from events.api.event import EventPost
from events.plain import read_plain
from events.reading import Arrival, _read_with_care, read_event
from events.tracing import Trace
from tenants.problems import Problem, Validation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = {
    "application_id": str(uuid.uuid4()),
    "event_type": "a.b.c",
    "payload": "x",
    "payload_content_type": "text/plain",
    "occurred_at": "2026-01-02T03:04:05Z",
    "labels": {"a": "b"},
}
MISSING = object()

BOTH = [
    *[(field, MISSING) for field in GOOD if field != "application_id"],
    *[(field, None) for field in GOOD if field != "application_id"],
    *[(field, {"a": 1}) for field in GOOD if field != "application_id"],
    *[("event_id", value) for value in [None, str(uuid.uuid4()), uuid.uuid4().hex, "x", ""]],
    *[("event_type", value) for value in ["", "x", "x" * 200, "x" * 201, "é" * 200, "a\nb", "a\0b", "\ud800", " a "]],
    *[("payload", value) for value in ["", "é", "\ud800", "x" * limits.PAYLOAD_CHARACTERS]],
    ("payload", "x" * (limits.PAYLOAD_CHARACTERS + 1)),
    *[("payload_content_type", value) for value in ["", "x" * 101]],
    *[("labels", value) for value in [{}, [], "x", {"a": 1}, {"a": ""}, {"": "a"}, {"a": "é" * 25}, {"a": "é" * 26}]],
    *[("labels", value) for value in [{"a": "\0"}, {"a": "\ud800"}, {"x" * 50: "x" * 50}, {"x" * 51: "x"}]],
    *[("labels", {str(n): "x" for n in range(count)}) for count in (10, 11)],
    *[("metadata", {str(n): "x" for n in range(count)}) for count in (0, 50, 51)],
    *[("metadata", value) for value in [None, [], {"a": None}]],
    *[
        ("occurred_at", value)
        for value in ["2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.123456-12:30", "x", "", 5]
    ],
    *[("occurred_at", value) for value in ["2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z"]],
    *[("ordering_key", value) for value in [None, "", "k", " k ", "x" * 200, "x" * 201, "a\0"]],
    *[("priority", value) for value in [None, 0, 200, -1, 201, "high", [1]]],
    *[("delay_ms", value) for value in [None, 0, limits.DELAY_MS, limits.DELAY_MS + 1, -1, "soon"]],
    *[("deliver_at", value) for value in [None, "2026-01-02T00:00:00Z", "soon"]],
    *[("backoff_schedule", value) for value in [None, [], [0, 5], [0] * 100, [0] * 101, [-1], ["x"], "x", {}]],
    *[("keys_if_undelivered", value) for value in [None, [], [["a"]], [["a"] * 10] * 10, [["a"]] * 11, [["a"] * 11]]],
    *[("keys_if_undelivered", value) for value in [[["a" * 100]], [["a" * 101]], [[""]], [[]], "x", ["x"], {}]],
    *[("keys_if_undelivered", [[value]]) for value in ["\x00", "\x1f", " a ", "é", True]],
    *[("backoff_schedule", [value]) for value in (limits.BACKOFF_MS, limits.BACKOFF_MS + 1)],
]


def body(field, value):
    fields = {**GOOD, field: value}
    return {name: value for name, value in fields.items() if value is not MISSING}


def refused(event):
    """The fields that are complained about."""
    try:
        read_event(event, Arrival(NOW))
    except Validation as problem:
        return set(problem.validation)
    return set()


@pytest.mark.parametrize(("field", "value"), BOTH)
def test_the_reader_and_the_documented_serializer_agree(field, value):
    event = body(field, value)
    serializer = EventPost(data=event)
    serializer.is_valid()
    assert refused(event) == set(serializer.errors)
    assert refused(event) <= {field}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("payload", 1),
        ("payload", True),
        ("event_type", 1),
        ("event_id", 1),
        ("occurred_at", "2026-01-02T03:04:05"),
        ("occurred_at", "20260102T030405Z"),
        ("occurred_at", "2026-01-02T03:04Z"),
        ("occurred_at", "2026-01-02"),
        ("occurred_at", "0001-01-01T00:00:00+14:00"),
        ("occurred_at", "٢٠٢٦-01-02T03:04:05Z"),
        ("priority", "5"),
        ("priority", 5.0),
        ("priority", True),
        ("backoff_schedule", [True]),
        ("keys_if_undelivered", [[1]]),
        ("deliver_at", "2026-02-01T00:00:01Z"),
    ],
)
def test_nothing_is_guessed(field, value):
    assert refused(body(field, value)) == {field}


def test_every_field_that_is_wrong_is_named_in_one_answer():
    assert refused({"labels": {}, "priority": 900}) == {
        "event_type",
        "payload",
        "payload_content_type",
        "occurred_at",
        "labels",
        "priority",
    }


def test_a_complaint_says_its_bound():
    with pytest.raises(Validation) as caught:
        read_event(body("event_type", "x" * 201), Arrival(NOW))
    complaint = {"code": "max_length", "message": "This must have at most 200 characters.", "params": {"max": 200}}
    assert caught.value.validation == {"event_type": [complaint]}


@pytest.mark.parametrize("body", [None, [], 1, "x"])
def test_what_is_no_object_is_no_event(body):
    assert refused(body) == {"non_field_errors"}


def test_complaints_have_the_order_of_the_documents():
    with pytest.raises(Validation) as refusal:
        read_event(
            {"deliver_at": "2036-01-01T00:00:00Z", "occurred_at": "now", "labels": {}, "event_type": ""},
            Arrival(NOW),
        )
    assert list(refusal.value.validation) == [
        "event_type", "payload", "payload_content_type", "labels", "occurred_at", "deliver_at",
    ]  # fmt: skip


def test_whose_id_it_is_is_known():
    mine = uuid.uuid4()
    assert read_event({**GOOD, "event_id": str(mine)}, Arrival(NOW)).event_id == mine
    for nothing in (GOOD, {**GOOD, "event_id": None}):
        assert read_event(nothing, Arrival(NOW)).event_id is None


def test_what_is_read_is_what_was_sent():
    mine = uuid.uuid4()
    event = read_event(
        {**GOOD, "event_id": str(mine), "occurred_at": "2026-01-02t03:04:05.123456789+01:00", "delay_ms": 1000,
         "deliver_at": "2026-01-03T00:00:00Z", "ordering_key": " k ", "surprise": 1},
        Arrival(NOW),
    )  # fmt: skip
    assert event.payload == b"x"
    assert event.event_id == mine
    assert columns_of(event) == {
        "event_type": GOOD["event_type"],
        "payload_content_type": GOOD["payload_content_type"],
        "labels": {"a": "b"},
        "occurred_at": datetime(2026, 1, 2, 2, 4, 5, 123456, tzinfo=UTC),
        "ordering_key": " k ",
        "deliver_at": "2026-01-01T00:00:01+00:00",
    }


def test_what_a_request_says_of_all_its_events_is_said_of_each():
    arrival = Arrival(NOW, "192.0.2.1", Trace("00-a-b-01", 'x="y"'))
    said = {"ip": "192.0.2.1", "traceparent": "00-a-b-01", "tracestate": 'x="y"'}
    for event in (GOOD, {**GOOD, "labels": {"a": "é"}}):
        assert columns_of(read_event(event, arrival)).items() >= said.items()


def columns_of(event):
    columns = orjson.loads(event.fields)
    columns.pop("payload", None)  # the database reads what it knows
    return {**columns, "occurred_at": datetime.fromisoformat(columns["occurred_at"])}


def read_with_care(sent):
    try:
        event = _read_with_care(sent, Arrival(NOW))
    except Problem as problem:
        return type(problem)
    return event.payload, columns_of(event), event.event_type, event.event_id


def read_plainly(sent):
    try:
        event = read_plain(sent, b"}")
    except Problem as problem:
        return type(problem)
    return event and (event.payload, columns_of(event), event.event_type, event.event_id)


def test_an_event_as_nearly_all_are_is_plain():
    usual = {
        **GOOD, "event_id": str(uuid.uuid4()), "payload": '{"name": "Zoë"}', "payload_content_type": "application/json",
        "occurred_at": "2026-01-02T03:04:05.678901+01:00", "metadata": {"b": "c"}, "ordering_key": "k", "priority": 7,
    }  # fmt: skip
    assert read_plainly(usual) == read_with_care(usual)
    assert read_plainly(GOOD) == read_with_care(GOOD)


TEXTS = st.text(st.sampled_from('ab .é€\0\n\\"\x7f\x80\ud800😀'), max_size=3) | st.sampled_from(
    ["x" * 50, "x" * 51, "é" * 25, "é" * 26, "x" * 200, "x" * 201, "hook0.a.b", "application/json", "text/plain", "a.b"]
)
VALUES = TEXTS | st.none() | st.booleans() | st.integers(-1, 201) | st.floats() | st.lists(TEXTS, max_size=2)
MAPS = st.dictionaries(TEXTS, TEXTS | VALUES, max_size=11)
MOMENTS = st.from_regex(
    r"2026-(01|02|13)-(01|30)[Tt _](00|24):59:(00|60)(\.[0-9]{1,10})?(Z|z|[+-](00|24):?(00|60))?", fullmatch=True
)
SENT = st.fixed_dictionaries(
    {"event_type": TEXTS | VALUES, "payload": TEXTS | VALUES, "labels": MAPS | VALUES, "occurred_at": MOMENTS | VALUES},
    optional={
        "payload_content_type": TEXTS, "metadata": MAPS | VALUES, "ordering_key": VALUES, "priority": VALUES,
        "event_id": st.uuids().map(str) | st.uuids().map(lambda each: each.urn) | VALUES, "delay_ms": VALUES,
        "deliver_at": MOMENTS | VALUES, "surprise": VALUES, "ip": VALUES, "traceparent": VALUES,
    },
)  # fmt: skip


@settings(max_examples=500)
@given(SENT, st.sets(st.sampled_from(list(GOOD))))
def test_what_is_read_plainly_is_what_would_be_read_with_care(sent, good):
    sent |= {name: GOOD[name] for name in good}
    assert read_plainly(sent) in (None, read_with_care(sent))
