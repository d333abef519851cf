"""Who comes too often: 429, with when to come again."""

import ipaddress

import pytest
from django.test import Client

from hook0 import throttle
from hook0.rates import Rate, Rates
from tests.clients import problem


@pytest.fixture(autouse=True)
def rates(tmp_path, monkeypatch):
    counted = Rates((tmp_path / "rates").open("a+b"), clock=lambda: 10**12)
    monkeypatch.setattr(throttle, "rates", lambda: counted)


def get(path="/api/v1/instance/", address="192.0.2.1", **headers):
    return Client(REMOTE_ADDR=address).get(path, headers=headers)


def refused(answer):
    document = problem(answer, 429, "RateLimited")
    assert answer["Retry-After"] == answer["x-ratelimit-after"] == "1"
    return document


def test_an_address_has_a_rate(settings):
    settings.ADDRESS_RATE = Rate(1, 2)
    assert [get().status_code for _ in range(3)] == [200, 200, 429]
    refused(get())
    assert get(address="192.0.2.2").status_code == 200


def test_a_token_has_a_rate_from_wherever_it_comes(settings):
    settings.TOKEN_RATE = Rate(1, 1)
    assert get(address="192.0.2.1", authorization="Bearer a").status_code == 200
    refused(get(address="192.0.2.2", authorization="Bearer a"))
    assert get(address="192.0.2.2", authorization="Bearer b").status_code == 200


def test_behind_a_trusted_proxy_the_address_is_the_clients(settings):
    settings.ADDRESS_RATE = Rate(1, 1)
    settings.TRUSTED_PROXIES = [ipaddress.ip_network("10.0.0.0/8")]
    assert get(address="10.0.0.1", x_forwarded_for="192.0.2.1").status_code == 200
    assert get(address="10.0.0.1", x_forwarded_for="192.0.2.2").status_code == 200
    refused(get(address="10.0.0.2", x_forwarded_for="192.0.2.2"))


def test_without_a_rate_everybody_may_come(settings):
    settings.ADDRESS_RATE = settings.TOKEN_RATE = Rate(0, 1)
    assert {get(authorization="x").status_code for _ in range(10)} == {200}


def test_the_admin_has_no_rates(settings):
    settings.ADDRESS_RATE = Rate(1, 1)
    assert {get("/favicon.ico").status_code for _ in range(5)} == {404}


def test_a_web_page_may_read_when_to_come_again(settings):
    settings.ADDRESS_RATE = Rate(1, 1)
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example.com"]
    get()
    answer = get(origin="https://app.example.com")
    refused(answer)
    assert "Retry-After" in answer["Access-Control-Expose-Headers"]


def test_a_home_that_cannot_be_written_to_is_said_and_not_the_end(settings, tmp_path, caplog):
    (tmp_path / "file").touch()
    settings.HOME = tmp_path / "file"
    assert Rates(throttle._open()).wait(b"me", Rate(1, 1)) == 0
    assert "Each process counts" in caplog.text
