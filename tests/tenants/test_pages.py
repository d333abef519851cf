"""Lists in pages, with the event types as an example."""

import re

import pytest

from tenants.models import EventType
from tests.clients import as_application, problem
from tests.factories import make_application, make_event_type

pytestmark = pytest.mark.django_db


def next_of(answer):
    found = re.fullmatch(r'<https?://[^/]+/api/v1(/[^>]+)>; rel="next"', answer.headers.get("Link", ""))
    return found and found[1]


def names(answer):
    return [each["event_type_name"] for each in answer.json()]


@pytest.fixture
def application():
    application = make_application()
    for number in range(4):
        make_event_type(application, f"billing.refund.n{number}")
    return application


def test_pages_follow_each_other_and_the_last_has_no_next(application):
    api = as_application(application)
    answer = api.get("/event_types/", application_id=application.id, limit=2)
    seen = [names(answer)]
    while address := next_of(answer):
        answer = api.get(address)
        seen.append(names(answer))
    assert [len(page) for page in seen] == [2, 2, 1]
    assert [name for page in seen for name in page] == sorted(EventType.objects.values_list("name", flat=True))


def test_a_page_that_ends_the_list_exactly_has_no_next(application):
    answer = as_application(application).get("/event_types/", application_id=application.id, limit=5)
    assert len(names(answer)) == 5
    assert next_of(answer) is None


def test_what_comes_before_the_cursor_meanwhile_shifts_nothing(application):
    api = as_application(application)
    answer = api.get("/event_types/", application_id=application.id, limit=2)
    make_event_type(application, "a.first.one")
    assert names(api.get(next_of(answer))) == ["billing.refund.n1", "billing.refund.n2"]


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": "many"}, {"pagination_cursor": "bm9uc2Vuc2U="}, {"pagination_cursor": "?"}]
)
def test_a_bad_page_is_a_problem_that_names_the_parameter(application, query):
    answer = as_application(application).get("/event_types/", application_id=application.id, **query)
    assert set(problem(answer, 422, "Validation")["validation"]) == set(query)
