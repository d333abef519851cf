"""What the API tells everybody of the installation, and the headers that all answers have."""

import pytest
from django.test import Client

from tests.clients import ApiClient

api = ApiClient(None)
PAGE = "https://app.example.com"


@pytest.fixture
def page(settings):
    settings.CORS_ALLOWED_ORIGINS = [PAGE]


def test_the_instance_says_what_holds_here(settings):
    settings.QUOTAS_ENFORCED, settings.SUPPORT_EMAIL_ADDRESS = True, "help@example.com"
    assert api.get("/instance/").json() == {
        "biscuit_public_key": "",
        "registration_disabled": True,
        "password_minimum_length": 12,
        "auto_db_migration": False,
        "application_secret_compatibility": True,
        "quota_enforcement": True,
        "matomo": None,
        "formbricks": None,
        "support_email_address": "help@example.com",
        "cloudflare_turnstile_site_key": None,
    }


def test_the_content_types_of_payloads_are_listed():
    expected = ["text/plain", "application/json", "application/octet-stream+base64"]
    assert api.get("/payload_content_types/").json() == expected


def test_the_settings_are_listed_with_defaults_but_not_with_secrets(settings):
    variables = {each["env_var"]: each for each in api.get("/environment_variables").json()}
    assert set(variables) >= {"IP", "PORT", "DATABASE_URL"}
    assert variables["PORT"] == {
        "name": "PORT",
        "env_var": "PORT",
        "description": "Hook0's name for `HOOK0_PORT`, which goes before it.",
        "default": "8000",
        "sensitive": False,
        "required": False,
        "group": "Installation",
    }
    assert {each["default"] for each in variables.values() if each["sensitive"]} == {None}
    assert settings.SECRET_KEY not in str(variables)


@pytest.mark.parametrize("path", ["/instance/", "/nothing/"])
def test_every_answer_is_hardened(path):
    headers = api.get(path).headers
    hardening = ("X-Content-Type-Options", "X-Frame-Options", "X-XSS-Protection", "Referrer-Policy")
    assert [headers[name] for name in hardening] == ["nosniff", "DENY", "0", "same-origin"]


def test_a_page_from_an_allowed_origin_may_call_the_api(page):
    answer = Client().options(
        "/api/v1/event",
        headers={
            "Origin": PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,hook0-client-options, traceparent, tracestate",
        },
    )
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST, PUT, DELETE"
    assert (
        answer.headers["Access-Control-Allow-Headers"]
        == "accept, authorization, content-type, hook0-client-options, traceparent, tracestate"
    )
    assert answer.headers["Access-Control-Max-Age"] == "3600"


def test_a_page_may_read_where_the_next_page_of_a_list_is(page):
    answer = Client().get("/api/v1/instance/", headers={"Origin": PAGE})
    assert "Link" in answer.headers["Access-Control-Expose-Headers"].split(", ")


def test_other_origins_and_other_addresses_than_the_apis_get_nothing(page):
    for path, origin in [("/api/v1/instance/", "https://evil.example.com"), ("/admin/login/", PAGE)]:
        assert "Access-Control-Allow-Origin" not in Client().get(path, headers={"Origin": origin}).headers
