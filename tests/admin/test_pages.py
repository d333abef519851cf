"""Every page comes, and asks the database no more than it may."""

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.admin.walk import details, lists, verbs

MOST_QUERIES = 20


def get(client, address):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = client.get(address, follow=True)
    assert answer.status_code == 200, (address, answer.status_code)
    asked = [each["sql"] for each in queries.captured_queries]
    assert len(asked) <= MOST_QUERIES, (address, len(asked), asked)
    return answer.content.decode()


def test_every_page_comes_with_few_queries(operator, scene):
    addresses = {"home": reverse("admin:index"), **lists()}
    one = details()
    assert len(one) >= 14
    for address in [*addresses.values(), *one.values(), *verbs().values()]:
        get(operator, address)
