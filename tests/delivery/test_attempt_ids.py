import uuid

import pytest
from django.db import connection

from delivery.attempt_ids import attempt_id, delivery_id_of, try_number_of

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
