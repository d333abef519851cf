"""Events by day: what a job has counted, what came in since, and days that are over."""

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection

from events.models import Event, EventsPerDay, EventUpkeep
from events.per_day import count_events, events_per_day
from tests.clients import as_application, as_organization, problem
from tests.factories import make_application, publish

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY, WEDNESDAY = (date(2026, 6, day) for day in (1, 2, 3))


def at(day, hour, minute=0, second=0):
    return datetime(2026, 6, day.day, hour, minute, second, tzinfo=UTC)


def receive(application, moment, count=1):
    for event in publish(application, count):
        Event.objects.filter(event_id=event.event_id).update(received_at=moment)


def counts(*applications, first=MONDAY, last=WEDNESDAY):
    found = events_per_day([each.id for each in applications], first=first, last=last)
    return [(each.application_name, each.date, each.amount, each.is_provisional) for each in found]


def test_before_the_first_count_all_is_counted_when_asked_for_and_provisional(application):
    receive(application, at(MONDAY, 12), 2)
    receive(application, at(TUESDAY, 0))
    assert counts(application) == [("Shop", MONDAY, 2, True), ("Shop", TUESDAY, 1, True)]


def test_what_a_job_has_counted_and_what_came_in_since_add_up(application):
    receive(application, at(MONDAY, 12), 2)
    count_events(now=at(MONDAY, 13))
    assert EventsPerDay.objects.get().amount == 2
    receive(application, at(MONDAY, 13), 3)
    assert counts(application) == [("Shop", MONDAY, 5, True)]
    count_events(now=at(MONDAY, 14))
    assert EventsPerDay.objects.get().amount == 5
    assert counts(application) == [("Shop", MONDAY, 5, True)]


def test_counting_again_counts_nothing_twice(application):
    receive(application, at(MONDAY, 12), 2)
    for _ in range(3):
        count_events(now=at(MONDAY, 13))
    count_events(now=at(MONDAY, 12))  # a clock that is behind
    assert EventsPerDay.objects.get().amount == 2
    assert EventUpkeep.objects.get().counted_until == at(MONDAY, 12, 59)


def test_a_day_is_counted_anew_when_it_has_settled_with_what_was_committed_late(application):
    receive(application, at(MONDAY, 12), 2)
    count_events(now=at(MONDAY, 13))
    receive(application, at(MONDAY, 12), 1)  # the job had passed by
    assert counts(application) == [("Shop", MONDAY, 2, True)]
    count_events(now=at(TUESDAY, 0, 59))
    assert counts(application) == [("Shop", MONDAY, 2, True)]
    count_events(now=at(TUESDAY, 1))
    assert counts(application) == [("Shop", MONDAY, 3, False)]


def test_after_midnight_the_new_day_is_counted_when_asked_for_until_the_old_one_has_settled(application):
    receive(application, at(MONDAY, 23, 59, 59))
    receive(application, at(TUESDAY, 0, 0), 2)
    count_events(now=at(TUESDAY, 0, 30))
    assert counts(application) == [("Shop", MONDAY, 1, True), ("Shop", TUESDAY, 2, True)]
    count_events(now=at(TUESDAY, 2))
    assert counts(application) == [("Shop", MONDAY, 1, False), ("Shop", TUESDAY, 2, True)]


def test_a_job_that_was_away_for_days_catches_up(application):
    for day in (MONDAY, TUESDAY, WEDNESDAY):
        receive(application, at(day, 12), day.day)
    count_events(now=at(WEDNESDAY, 13))
    expected = [("Shop", MONDAY, 1, False), ("Shop", TUESDAY, 2, False), ("Shop", WEDNESDAY, 3, True)]
    assert counts(application) == expected
    assert sorted(EventsPerDay.objects.values_list("amount", flat=True)) == [1, 2, 3]


def test_history_stays_when_its_events_are_deleted(application):
    receive(application, at(MONDAY, 12), 2)
    count_events(now=at(TUESDAY, 12))
    Event.objects.all().delete()
    count_events(now=at(WEDNESDAY, 12))
    assert counts(application) == [("Shop", MONDAY, 2, False)]


@pytest.fixture
def api(application):
    """Of an application that received something on Monday and something today."""
    receive(application, at(MONDAY, 12), 2)
    count_events(now=at(WEDNESDAY, 12))
    publish(application, 3)
    return as_application(application)


def test_the_answer_has_the_days_asked_for_and_else_the_last_thirty(api, application):
    today = datetime.now(UTC).date()
    row = {"application_id": str(application.id), "application_name": "Shop"}
    monday = row | {"date": "2026-06-01", "amount": 2, "is_provisional": False}
    now = row | {"date": today.isoformat(), "amount": 3, "is_provisional": True}

    def ask(**query):
        return api.get("/events_per_day/application", application_id=application.id, **query).json()

    assert ask() == [now]
    assert ask(**{"from": "2026-06-01"}) == [monday, now]
    assert ask(**{"from": "2026-06-01", "to": "2026-06-01"}) == [monday]
    assert ask(to="2026-07-01") == [monday]
    assert ask(to="2026-07-02") == []
    assert ask(to=(today - timedelta(days=1)).isoformat()) == []
    assert ask(to="0001-01-01") == []
    assert ask(to="9999-12-31") == []


@pytest.mark.parametrize(("query", "name"), [({"from": "x"}, "from"), ({"to": "2026-13-01"}, "to")])
def test_each_bad_day_is_named(api, application, query, name):
    answer = api.get("/events_per_day/application", application_id=application.id, **query)
    assert set(problem(answer, 422, "Validation")["validation"]) == {name}


def test_days_the_wrong_way_round_are_refused(api, application):
    for path, name in (("application", "application_id"), ("organization", "organization_id")):
        credentials = api if path == "application" else as_organization(application.organization)
        id_ = application.id if path == "application" else application.organization_id
        answer = credentials.get(f"/events_per_day/{path}", **{name: id_, "from": "2026-06-02", "to": "2026-06-01"})
        problem(answer, 400, "InvalidDateRange")


def test_an_organization_has_the_days_of_all_its_applications(application):
    second = make_application(organization=application.organization, name="Another")
    for each in (application, second, make_application()):
        receive(each, at(MONDAY, 12))
    query = {"organization_id": application.organization_id, "from": "2026-06-01", "to": "2026-06-01"}
    found = as_organization(application.organization).get("/events_per_day/organization", **query).json()
    assert [(each["application_name"], each["amount"]) for each in found] == [("Another", 1), ("Shop", 1)]
    second.deleted_at = datetime.now(UTC)
    second.save()
    found = as_organization(application.organization).get("/events_per_day/organization", **query).json()
    assert [each["application_name"] for each in found] == ["Shop"]


def test_nobody_counts_what_is_not_theirs(api, application):
    other = make_application()
    mine, theirs = {"application_id": application.id}, {"organization_id": application.organization_id}
    for stranger in (as_application(other), as_organization(other.organization)):
        problem(stranger.get("/events_per_day/application", **mine), 403, "Forbidden")
        problem(stranger.get("/events_per_day/organization", **theirs), 403, "Forbidden")
    problem(api.get("/events_per_day/organization", **theirs), 403, "Forbidden")  # a secret is of an application


def test_asking_and_counting_read_a_range_of_an_index(application):
    """However many events there are: only those of the days that are asked for."""
    receive(application, at(MONDAY, 12), 3)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata,"
            " occurred_at, received_at) SELECT gen_random_uuid(), %s, 'a.b.c', '', '', '{}', '{}', now(),"
            " timestamptz '2026-06-10' - n * interval '1 hour' FROM generate_series(1, 5000) AS n",
            [application.id],
        )
        cursor.execute("ANALYZE event; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off")
        statements = []

        def remember(execute, sql, params, many, context):
            if "count(*)" in sql:
                statements.append((sql, params))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(remember):
            counts(application)
            count_events(now=at(TUESDAY, 12))
        assert len(statements) == 3  # asked for; Monday; Tuesday so far
        for sql, params in statements:
            cursor.execute(f"EXPLAIN {sql}", params)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert re.search("Index (Only )?Scan using event_by_arrival on event e", plan), plan
