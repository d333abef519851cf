"""The rules of a load and those of the API give the same verdict on the same event, and name the same field."""

import json
import uuid
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events import limits as of_the_api
from events.payload import decode_payload
from events.problems import EventInvalidBase64Payload, EventInvalidJsonPayload, EventInvalidPayloadContentType
from events.reading import Arrival, read_event
from spark_ingest import limits, rules
from spark_ingest.layout import FIELDS, Layout
from spark_ingest.reading import Rules, read
from tenants.problems import Problem, Validation
from tests.factories import EVENT_TYPE

NOW = datetime.now(UTC).replace(microsecond=0)
PROBLEMS = {
    EventInvalidPayloadContentType: "payload_content_type",
    EventInvalidJsonPayload: "payload",
    EventInvalidBase64Payload: "payload",
}
AS_JSON = {"labels", "metadata", "backoff_schedule", "keys_if_undelivered"}
AGAINST = Rules(Layout({field: field for field in FIELDS}, {}), {EVENT_TYPE}, int(NOW.timestamp()) * 1_000_000)

texts = st.text(st.characters(codec="utf-8"), max_size=60)
strings = st.dictionaries(texts, texts | st.none() | st.integers(), max_size=12)
moments = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat) | st.sampled_from(
    ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.123456789+01:00", "2026-02-30T12:00:00Z", "2026-01-31", "",
     "0001-01-01T00:00:00+01:00", "2026-01-31 12:00:00Z", "٢٠٢٦-01-31T12:00:00Z"]
)  # fmt: skip
words = texts | st.none() | st.sampled_from(["failed", "failed", 1, "a" * 101, "\0", "a\x85b", "\ud800"])
events = st.fixed_dictionaries(
    {
        "event_id": st.none() | st.uuids().map(str) | st.sampled_from(["", "1_" * 16, f"{{{uuid.uuid4()}}}", "x"]),
        "event_type": st.sampled_from([EVENT_TYPE, EVENT_TYPE, "", "x" * 201, "a\x85b", None]) | texts,
        "payload": st.none() | texts | st.sampled_from(
            ["{}", "NaN", '{"a": 1e999}', "[" * 1100 + "]" * 1100, "1" * 5000, '"\\ud800"', "aGk=", "aGk", "a\0b",
             "x" * 699_050, "x" * 699_051]
        ),
        "payload_content_type": st.sampled_from([*limits.CONTENT_TYPES, "", "text/html", "x" * 101]),
        "labels": st.none() | strings | st.sampled_from([{"shop": "1"}, {"a": "é" * 26}, {"\0": "x"}, [], "x"]),
        "metadata": st.none() | strings,
        "occurred_at": st.none() | moments,
        "ordering_key": st.none() | texts | st.sampled_from(["", "x" * 201]),
        "deliver_at": st.none() | moments,
        "backoff_schedule": st.none() | st.lists(st.integers(-1, limits.BACKOFF_MS + 1), max_size=3)
        | st.sampled_from([[True], [1.5], ["1"], {}, [1] * 101]),
        "keys_if_undelivered": st.none() | st.lists(st.lists(words, max_size=11) | words, max_size=11)
        | st.sampled_from([{}, "x", [["a"]] * 10, [["a"]] * 11, [["a"] * 10], [["a"] * 11], [["a" * 100]]]),
    }
)  # fmt: skip
GOOD = {
    "event_id": None, "event_type": EVENT_TYPE, "payload": "{}", "payload_content_type": limits.JSON,
    "labels": {"shop": "1"}, "metadata": None, "occurred_at": "2026-01-31T12:00:00Z", "ordering_key": None,
    "deliver_at": None, "backoff_schedule": None, "keys_if_undelivered": None,
}  # fmt: skip


def api_refuses(event) -> set[str]:
    try:
        read = read_event(event, Arrival(NOW))
    except Validation as problem:
        return set(problem.validation)
    except Problem as problem:
        return {PROBLEMS[type(problem)]}
    return set() if read.event_type == EVENT_TYPE else {"event_type"}  # the insert finds the type unknown


def load_refuses(event) -> set[str]:
    columns = {
        name: [json.dumps(value) if name in AS_JSON and value is not None else value] for name, value in event.items()
    }
    batch = pa.RecordBatch.from_pydict({name: pa.array(value, pa.string()) for name, value in columns.items()})
    _, reasons = read(batch, AGAINST)
    return set(reasons.get(0, {}))


@settings(deadline=None, max_examples=400)
@given(events)
@example(GOOD)
@example({**GOOD, "labels": {"shop": "1", "none": None}})
def test_both_refuse_the_same_events_for_the_same_fields(event):
    assert load_refuses(event) == api_refuses(event)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_both_refuse_the_same_event_that_differs_from_a_good_one_in_one_field(field, data):
    event = {**GOOD, field: data.draw(events)[field]}
    assert load_refuses(event) == api_refuses(event)


@settings(deadline=None)
@given(
    texts | st.sampled_from(["{}", "1" * 400, "1" * 5000, "NaN", "1e999", "aGk="]),
    st.sampled_from(limits.CONTENT_TYPES),
)
def test_without_orjson_the_verdict_on_a_payload_is_the_same(payload, content_type):
    def verdict(check):
        try:
            return check(payload, content_type)
        except (rules.Refused, Problem):
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "orjson", None)
        assert verdict(rules.content) == verdict(decode_payload)


def test_the_limits_are_the_same():
    names = [name for name in vars(limits) if name.isupper()]
    assert len(names) > 10
    for name in names:
        assert getattr(limits, name) == getattr(of_the_api, name)
