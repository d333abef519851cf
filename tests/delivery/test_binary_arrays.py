"""Payloads and ids reach the database as they are, however many, and none of them too."""

import uuid

import pytest
from django.db import connection

from delivery.binary_arrays import ByteStrings, Ids
from delivery.statements import execute


@pytest.mark.parametrize("payloads", [(), (b"",), (b"a", b"", b'\x00\xff\\{},"'), (b"x" * 100_000,) * 3])
@pytest.mark.django_db
def test_they_come_back_as_they_went(payloads):
    text = "SELECT array_agg(each ORDER BY n) FROM unnest(%(payloads)s::bytea[]) WITH ORDINALITY AS u (each, n)"
    connection.ensure_connection()
    ((found,),) = execute(connection.connection, text, {"payloads": ByteStrings(payloads)})
    assert tuple(map(bytes, found or ())) == payloads


@pytest.mark.parametrize("count", [0, 1, 1000])
@pytest.mark.django_db
def test_ids_come_back_as_they_went(count):
    ids = [uuid.uuid4() for _ in range(count)]
    text = "SELECT array_agg(each ORDER BY n) FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS u (each, n)"
    connection.ensure_connection()
    ((found,),) = execute(connection.connection, text, {"ids": Ids(ids)})
    assert (found or []) == ids
