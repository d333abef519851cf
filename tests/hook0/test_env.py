import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from hook0 import env

Parse = Callable[[str], Any]


@pytest.fixture(autouse=True)
def _forget_what_tests_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "VARIABLES", {})


def read(parse: Parse, default: str | None = None, *, sensitive: bool = False) -> Any:
    return env.read("HOOK0_TRIAL", default, "What it is for.", group="Trial", parse=parse, sensitive=sensitive)


@pytest.mark.parametrize(
    ("parse", "written", "value"),
    [
        (env.text, "as it is", "as it is"),
        (env.text, "  spaces around  ", "spaces around"),
        (env.boolean, "true", True),
        (env.boolean, "YES", True),
        (env.boolean, "1", True),
        (env.boolean, "off", False),
        (env.boolean, "0", False),
        (env.integer(1, 10), "1", 1),
        (env.integer(1, 10), "10", 10),
        (env.seconds(0.1, 60), "0.1", 0.1),
        (env.seconds(0.1, 60), "60", 60.0),
        (env.one_of(["red", "green"]), "green", "green"),
        (env.words, "one, two,,three ", ["one", "two", "three"]),
        (
            env.networks,
            "10.1.2.3/8, ::1/128",
            [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128")],
        ),
        (
            env.origins,
            "https://app.example.com, http://localhost:3000",
            ["https://app.example.com", "http://localhost:3000"],
        ),
        (env.folder, "/tmp/../tmp", Path("/tmp").resolve()),  # noqa: S108
        (env.url("http", "https"), "https://hooks.example.com", "https://hooks.example.com"),
        (env.url("postgresql"), "postgresql:///hook0?host=/run", "postgresql:///hook0?host=/run"),
        (env.secret(4), "long enough", "long enough"),
    ],
)
def test_a_reader_accepts_what_makes_sense(
    monkeypatch: pytest.MonkeyPatch, parse: Parse, written: str, value: object
) -> None:
    monkeypatch.setenv("HOOK0_TRIAL", written)
    assert read(parse) == value


@pytest.mark.parametrize(
    ("parse", "written", "says"),
    [
        (env.boolean, "perhaps", "write true or false"),
        (env.integer(1, 10), "many", "a whole number from 1 to 10"),
        (env.integer(1, 10), "0", "from 1 to 10"),
        (env.integer(1, 10), "11", "from 1 to 10"),
        (env.integer(1, 10), "2.5", "a whole number"),
        (env.seconds(0.1, 60), "soon", "a number of seconds from 0.1 to 60"),
        (env.seconds(0.1, 60), "61", "from 0.1 to 60 seconds"),
        (env.seconds(0.1, 60), "nan", "from 0.1 to 60 seconds"),
        (env.one_of(["red", "green"]), "blue", "red, green"),
        (env.networks, "10.0.0.0/33", "write networks like 10.0.0.0/8"),
        (env.url("http", "https"), "ftp://example.com", "http:// or https://"),
        (env.url("http", "https"), "example.com", "http:// or https://"),
        (env.url("http", "https"), "http://", "names no host"),
        (env.origins, "https://app.example.com/", "without a path"),
        (env.origins, "https://me@app.example.com", "without a path"),
        (env.origins, "app.example.com", "http:// or https://"),
        (env.secret(8), "short", "at least 8 characters"),
    ],
)
def test_a_reader_refuses_nonsense_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, parse: Parse, written: str, says: str
) -> None:
    monkeypatch.setenv("HOOK0_TRIAL", written)
    with pytest.raises(ImproperlyConfigured) as refused:
        read(parse)
    assert str(refused.value).startswith("HOOK0_TRIAL: ")
    assert says in str(refused.value)
    assert "What it is for." in str(refused.value)


def test_an_unset_variable_takes_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK0_TRIAL", raising=False)
    assert read(env.integer(1, 10), "7") == 7


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK0_TRIAL", " ")
    assert read(env.integer(1, 10), "7") == 7


def test_a_default_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK0_TRIAL", raising=False)
    assert read(env.url("amqp"), "") == ""
    assert read(env.boolean, "") is False
    assert read(env.words, "") == []


def test_a_variable_without_a_default_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK0_TRIAL", raising=False)
    with pytest.raises(ImproperlyConfigured, match=r"^HOOK0_TRIAL is not set\. What it is for\.$"):
        read(env.text)


def test_a_refusal_does_not_show_what_is_sensitive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK0_TRIAL", "hunter2")
    with pytest.raises(ImproperlyConfigured) as refused:
        read(env.secret(32), sensitive=True)
    assert "hunter2" not in str(refused.value)


def test_what_was_read_is_known_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK0_TRIAL", "3")
    read(env.integer(1, 10), "7")
    known = env.Variable("HOOK0_TRIAL", "7", "What it is for.", "Trial", sensitive=False)
    assert env.VARIABLES["HOOK0_TRIAL"] == known


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK0_THERE", "x")
    monkeypatch.setenv("HOOK0_BLANK", " ")
    with pytest.raises(ImproperlyConfigured, match=r"^Not set: HOOK0_BLANK, HOOK0_MISSING\."):
        env.require("HOOK0_THERE", "HOOK0_BLANK", "HOOK0_MISSING")
    env.require("HOOK0_THERE")
