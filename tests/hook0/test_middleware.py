"""What requests go through, and what those of the API pass by."""

import gc

import orjson
import pytest
from django.test import Client
from rest_framework.request import Request
from rest_framework.views import APIView

from tenants import garbage
from tests.events.test_event_api import body


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


def send_lines(api, application, *events):
    path = f"/events/?application_id={application.id}"
    return api.post(path, raw=b"\n".join(map(orjson.dumps, events)), content_type="application/x-ndjson")


@pytest.mark.parametrize(("address", "status"), [("/event_types/", 200), ("/events/", 200), ("/event_types/no/", 404)])
def test_what_is_answered_is_let_go_at_once(api, application, tied, address, status):
    assert api.get(address, application_id=application.id).status_code == status
    assert tied() == []


def test_what_comes_in_is_let_go_at_once(api, application, tied):
    good, bad = body(application), body(application, payload="no JSON")
    assert api.post("/event/", good).status_code == 201
    assert api.post("/event/", bad).status_code == 400
    assert send_lines(api, application, good, bad).status_code == 200
    assert tied() == []


def test_what_holds_itself_is_let_go_when_so_many_bytes_have_passed(tied, monkeypatch):
    monkeypatch.setattr(garbage, "BYTES", 1_000)
    monkeypatch.setattr(garbage._Since, "bytes", 0)
    for _ in range(10):
        view = APIView()
        view.kwargs = {"itself": view}
    del view
    garbage.passed(999)
    assert len(tied()) == 10
    garbage.passed(1)
    assert tied() == []
