import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery.attempt_ids import (
    FIRST,
    LAST,
    attempt_id,
    delivery_id_of,
    first_after,
    first_from,
    made_at,
    try_number_of,
)

DELIVERY = uuid.UUID("01890a5d-ac96-774b-bcce-b302099a0000")


@pytest.mark.parametrize("number", [1, 2, 61, 2001])
def test_an_attempts_id_tells_its_delivery_and_its_number(number):
    attempt = attempt_id(DELIVERY, number)
    assert (delivery_id_of(attempt), try_number_of(attempt)) == (DELIVERY, number)


def test_the_first_attempt_has_the_id_of_the_delivery():
    assert attempt_id(DELIVERY, 1) == DELIVERY


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1, 2, 61, 2001])
def test_sql_makes_the_same_ids(number):
    with connection.cursor() as cursor:
        cursor.execute("SELECT attempt_id(%s, %s)", [DELIVERY, number])
        assert cursor.fetchone() == (attempt_id(DELIVERY, number),)


@pytest.mark.parametrize(
    ("moment", "first", "after"),
    [
        ("2026-01-01T00:00:00.001Z", 1, 2),
        ("2026-01-01T00:00:00.0011Z", 2, 2),
        ("2026-01-01T00:00:00.001999Z", 2, 2),
    ],
)
def test_an_interval_of_time_is_one_of_ids_to_the_millisecond(moment, first, after):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    moment = datetime.fromisoformat(moment)
    assert made_at(first_from(moment)) == start + timedelta(milliseconds=first)
    assert made_at(first_after(moment)) == start + timedelta(milliseconds=after)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)])
def test_the_ends_of_time_have_ids_too(moment):
    assert FIRST <= first_from(moment) <= first_after(moment) <= LAST


def test_an_id_that_is_not_ours_is_of_some_time():
    assert made_at(LAST).year == 9999


@pytest.mark.django_db
def test_the_ids_that_the_database_makes_are_of_version_7_in_order_and_have_room_for_the_try():
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT new_delivery_id(), pg_sleep(0.00002) FROM generate_series(1, 1000)")
        made = [identifier for identifier, _ in cursor.fetchall()]
    assert {each.version for each in made} == {7}
    assert {each.variant for each in made} == {uuid.RFC_4122}
    assert {try_number_of(each) for each in made} == {1}
    assert made == sorted(made)
    assert len({each.int & (1 << 62) - 1 for each in made}) == len(made)
    assert all(before <= made_at(each) <= datetime.now(UTC) for each in made)
