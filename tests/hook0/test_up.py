import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hook0.installation import Credentials, read_credentials, write_credentials
from hook0.probes import http_answers
from hook0.product import Site, environment, programs
from hook0.up import example, forget_counters, greeting, remember

URLS = {"DATABASE_URL": "postgresql://u:p@127.0.0.1:5432/hook0", "CELERY_BROKER_URL": "redis://:p@127.0.0.1:6379/0"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(
        home=tmp_path,
        code=tmp_path,
        bind="127.0.0.1",
        port=8000,
        metrics_port=8002,
        stream_port=8003,
        metrics_folder=tmp_path / "metrics",
        public_url="http://127.0.0.1:8000",
        stream_url="http://127.0.0.1:8003",
        pumps=2,
    )


class Listener(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers 200 to who comes as https://hooks.example.com."""

    requests: list[tuple[str, str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append((self.path, self.headers["Authorization"], body))
        self.send_response(201)
        self.end_headers()

    def do_GET(self) -> None:
        right = (self.headers["Host"], self.headers["X-Forwarded-Proto"]) == ("hooks.example.com", "https")
        self.send_response(200 if right else 301)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def listener() -> Iterator[http.server.HTTPServer]:
    Listener.requests = []
    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_example_posts_an_event_when_it_is_pasted_into_a_shell(listener: http.server.HTTPServer) -> None:
    credentials = Credentials(
        api_url=f"http://127.0.0.1:{listener.server_port}/api/v1",
        application_id="11111111-1111-1111-1111-111111111111",
        application_secret="22222222-2222-2222-2222-222222222222",
    )
    subprocess.run(["/bin/sh", "-ec", example(credentials)], check=True)
    [(path, authorization, body)] = Listener.requests
    assert path == "/api/v1/event/"
    assert authorization == f"Bearer {credentials.application_secret}"
    event = json.loads(body)
    assert datetime.fromisoformat(event.pop("occurred_at")).tzinfo
    assert json.loads(event.pop("payload")) == {"hello": "world"}
    assert event == {
        "application_id": credentials.application_id,
        "event_type": "demo.greeting.sent",
        "payload_content_type": "application/json",
        "labels": {"demo": "yes"},
    }


def test_readiness_is_asked_for_as_if_through_the_proxy_in_front(listener: http.server.HTTPServer) -> None:
    port = listener.server_port
    assert http_answers("0.0.0.0", port, "/api/v1/instance/", "https://hooks.example.com")
    assert not http_answers("0.0.0.0", port, "/api/v1/instance/", "http://127.0.0.1")


def test_credentials_of_an_earlier_run_are_kept_and_the_urls_are_of_this_one(site: Site) -> None:
    earlier = Credentials(application_secret="kept", admin_password="kept", database_url="old", metrics_url="old")
    write_credentials(site.home, earlier)
    remember(site, URLS)
    assert read_credentials(site.home) == replace(
        earlier,
        api_url="http://127.0.0.1:8000/api/v1",
        admin_url="http://127.0.0.1:8000/admin/",
        database_url=URLS["DATABASE_URL"],
        broker_url=URLS["CELERY_BROKER_URL"],
        metrics_url="http://127.0.0.1:8002/metrics",
        stream_url="http://127.0.0.1:8003/api/v1",
        receiver_url="http://127.0.0.1:8001",
    )
    assert (site.home / "credentials.json").stat().st_mode & 0o777 == 0o600


def test_the_greeting_says_where_the_password_is_and_not_what_it_is(site: Site) -> None:
    credentials = Credentials(admin_username="admin", admin_password="hunter2")
    said = greeting(site, credentials)
    assert "hunter2" not in said
    assert str(site.home / "credentials.json") in said


def test_the_receiver_can_be_left_out(site: Site) -> None:
    without = replace(site, receiver=False)
    env = environment(without, URLS)
    assert [program.name for program in programs(without, env)] == [
        program.name for program in programs(site, env) if program.name != "receiver"
    ]
    assert set(without.ports) == {8000, 8002, 8003}


@pytest.mark.parametrize(
    ("chosen", "remedies"),
    [
        ({}, {8002: "HOOK0_PORT=8010", 8003: "HOOK0_PORT=8010"}),
        ({"metrics_port": 9000}, {9000: "HOOK0_METRICS_PORT=9010", 8003: "HOOK0_PORT=8010"}),
        ({"stream_port": 9000}, {8002: "HOOK0_PORT=8010", 9000: "HOOK0_STREAM_PORT=9010"}),
    ],
)
def test_each_port_names_the_variable_that_moves_it(
    site: Site, chosen: dict[str, int], remedies: dict[int, str]
) -> None:
    moved = "HOOK0_PORT=8010"
    assert replace(site, **chosen).ports == {8000: moved, 8001: moved, **remedies}  # type: ignore[arg-type]


def test_a_secret_key_in_the_environment_is_not_replaced(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK0_SECRET_KEY", "of the operator")
    assert environment(site, URLS)["HOOK0_SECRET_KEY"] == "of the operator"
    assert not (site.home / "secret_key").exists()
    monkeypatch.delenv("HOOK0_SECRET_KEY")
    assert environment(site, URLS)["HOOK0_SECRET_KEY"] == (site.home / "secret_key").read_text()


def test_counters_of_dead_processes_are_forgotten(site: Site) -> None:
    site.metrics_folder.mkdir()
    (site.metrics_folder / "counter_1.db").touch()
    (site.metrics_folder / "own_series").touch()
    (site.metrics_folder / "README").touch()
    forget_counters(site)
    assert [path.name for path in site.metrics_folder.iterdir()] == ["README"]
