"""What requests go through, and what those of the API pass by."""

import gc

import pytest
from django.test import Client
from rest_framework.request import Request
from rest_framework.views import APIView


@pytest.mark.django_db
def test_the_admin_has_sessions_and_the_api_has_none(django_user_model):
    client = Client()
    client.force_login(django_user_model.objects.create_superuser("op", password="x"))
    assert client.get("/admin/").status_code == 200
    assert "cookie" not in client.get("/api/v1/instance/")["Vary"].lower()
    assert "cookie" in client.get("/admin/")["Vary"].lower()


def test_an_answer_says_its_length():
    answer = Client().get("/api/v1/errors/")
    assert int(answer["Content-Length"]) == len(answer.content)


def test_the_admin_loads_nothing_from_elsewhere_and_the_api_says_nothing_of_it(client):
    policy = client.get("/admin/login/")["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "http" not in policy
    assert "Content-Security-Policy" not in client.get("/api/v1/instance/")


@pytest.fixture
def tied():
    """Requests and views of DRF that are in memory, though nobody looked for garbage meanwhile."""
    gc.collect()
    before = _tied()
    gc.disable()
    yield lambda: [each for each in _tied() if not any(each is other for other in before)]
    gc.enable()


def _tied():
    return [each for each in gc.get_objects() if issubclass(type(each), (Request, APIView))]


@pytest.mark.parametrize(
    ("address", "lines", "status"),
    [
        ("/event_types/", None, 200),
        ("/events/", None, 200),
        ("/events/", b"{}\n{}\n", 200),
        ("/event_types/none/", None, 404),
    ],
    ids=["a list", "a list beside a batch", "a batch", "a problem"],
)
def test_what_is_answered_is_let_go_at_once(api, application, tied, address, lines, status):
    if lines is None:
        answer = api.get(address, application_id=application.id)
    else:
        path = f"{address}?application_id={application.id}"
        answer = api.post(path, raw=lines, content_type="application/x-ndjson")
    assert answer.status_code == status, answer.content
    assert tied() == []
