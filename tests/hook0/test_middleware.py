"""What requests go through, and what those of the API pass by."""

import pytest
from django.test import Client


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
