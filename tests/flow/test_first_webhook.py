"""From an empty folder to a delivered webhook, with the published client and a real worker, over real sockets."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import redis
import requests

from hook0.receiver import Receiver
from tests.cluster import ROOT
from tests.flow.conftest import Product

pytestmark = pytest.mark.flow

CLIENT = Path(sys.prefix) / "clients" / "python"
PATIENCE_SECONDS = 60


def with_hook0_client(
    *arguments: str, stdin: str = "", program: str = "hook0_client.py"
) -> subprocess.CompletedProcess[str]:
    """Run what a user of the published client would, without our package of the same name in sight."""
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "flow" / program, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=CLIENT,
        env={**os.environ, "PYTHONPATH": str(CLIENT)},
        timeout=180,
        check=False,
    )


def call(product: Product, method: str, path: str, **body):
    credentials = product.credentials
    answer = requests.request(
        method,
        f"{credentials.api_url}/{path}",
        json={"application_id": credentials.application_id, **body},
        headers={"Authorization": f"Bearer {credentials.application_secret}"},
        timeout=30,
    )
    assert answer.ok, answer.text
    return answer.json()


def subscribe(product: Product, receiver: Receiver, path: str, **overrides):
    return call(
        product,
        "POST",
        "subscriptions/",
        **{
            "is_enabled": True,
            "event_types": ["demo.greeting.sent"],
            "labels": {"demo": "flow"},
            "target": {
                "type": "http",
                "method": "POST",
                "url": f"http://127.0.0.1:{receiver.port}{path}",
                "headers": {"X-Custom": "yes"},
            },
            **overrides,
        },
    )


def send_greeting(product: Product, payload: str, *, label: str) -> None:
    call(
        product,
        "POST",
        "event/",
        event_type="demo.greeting.sent",
        payload=payload,
        payload_content_type="text/plain",
        occurred_at="2026-01-01T00:00:00Z",
        labels={"demo": label},
    )


def arrived(receiver: Receiver, path: str, count: int = 1):
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_SECONDS:
        found = [each for each in receiver.received if each.path == path]
        if len(found) >= count:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{len(found)} of {count} webhooks arrived at {path}")


def test_an_event_sent_by_hook0_client_arrives_signed_and_its_client_verifies_it(product, receiver):
    subscription = subscribe(product, receiver, "/genuine")
    credentials = product.credentials
    sent = with_hook0_client(
        "send", credentials.api_url, credentials.application_id, credentials.application_secret, '{"né": 1}'
    )
    assert sent.returncode == 0, sent.stderr
    (webhook,) = arrived(receiver, "/genuine")
    assert webhook.headers["x-event-id"] == sent.stdout
    assert webhook.body == '{"né": 1}'
    as_json = json.dumps({"headers": dict(webhook.headers), "body": webhook.body})
    assert with_hook0_client("verify", subscription["secret"], stdin=as_json).stdout == "genuine"

    forged = json.dumps({"headers": dict(webhook.headers), "body": '{"né": 2}'})
    assert "refused" in with_hook0_client("verify", subscription["secret"], stdin=forged).stderr
    stripped = json.dumps({"headers": {**webhook.headers, "x-hook0-attempt": "2"}, "body": webhook.body})
    assert "refused" in with_hook0_client("verify", subscription["secret"], stdin=stripped).stderr
    assert "refused" in with_hook0_client("verify", str(uuid.uuid4()), stdin=as_json).stderr


def test_the_curl_that_is_printed_works_when_pasted(product):
    curl = product.output.partition("\ncurl ")[2].partition("\n\n")[0]
    answer = subprocess.run(["sh", "-c", f"curl {curl}"], capture_output=True, text=True, timeout=60, check=False)
    assert "event_id" in json.loads(answer.stdout), answer
    event_id = json.loads(answer.stdout)["event_id"]
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_SECONDS:
        received = requests.get(f"{product.credentials.receiver_url}/_received", timeout=30).json()
        if event_id in [each["headers"]["x-event-id"] for each in received]:
            return
        time.sleep(0.1)
    raise AssertionError("The greeting did not arrive at the demo's receiver")


def test_credentials_hold_all_that_a_client_needs_and_nobody_else_may_read_them(product):
    path = product.home / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    credentials = json.loads(path.read_text())
    expected = {
        "api_url", "admin_url", "admin_username", "admin_password", "organization_id", "service_token",
        "application_id", "application_secret", "database_url", "broker_url", "metrics_url", "stream_url",
        "receiver_url",
    }  # fmt: skip
    assert set(credentials) == expected
    assert all(credentials.values())
    assert credentials["api_url"].endswith("/api/v1")


def test_the_admin_lets_the_administrator_in_and_serves_its_style(product):
    credentials = product.credentials
    session = requests.Session()
    login = session.get(f"{credentials.admin_url}login/", timeout=30)
    answer = session.post(
        f"{credentials.admin_url}login/",
        data={
            "username": credentials.admin_username,
            "password": credentials.admin_password,
            "csrfmiddlewaretoken": session.cookies["csrftoken"],
            "next": "/admin/",
        },
        headers={"Referer": login.url},
        timeout=30,
    )
    assert "Log out" in answer.text
    origin = credentials.admin_url.removesuffix("/admin/")
    assert session.get(f"{origin}/static/admin/css/base.css", timeout=30).status_code == 200


def test_metrics_count_what_was_delivered(product, receiver):
    def tries():
        text = requests.get(product.credentials.metrics_url, timeout=30).text
        lines = [line for line in text.splitlines() if line.startswith("hook0_delivery_tries_total")]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if 'verdict="done"' in line)

    before = tries()
    subscribe(product, receiver, "/counted", labels={"demo": "counted"})
    send_greeting(product, "x", label="counted")
    arrived(receiver, "/counted")
    began = time.monotonic()
    while tries() < before + 1 and time.monotonic() - began < PATIENCE_SECONDS:
        time.sleep(0.1)
    assert tries() == before + 1


def test_the_demo_shows_order_in_a_minute(product):
    demo = subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=ROOT,
        env={**os.environ, "HOOK0_HOME": str(product.home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    fifo, _, ordinary = demo.stdout.partition("ordinary subscription")
    assert "=> in order: created paid packed shipped delivered returned refunded closed" in fifo
    assert "everything arrived" in ordinary


def test_a_broker_that_is_flushed_again_and_again_loses_nothing(product, receiver):
    """Its messages are doorbells: what was not rung for is looked at all the same."""
    subscribe(product, receiver, "/flushed", labels={"demo": "flushed"}, fifo_mode=True)
    with redis.Redis.from_url(product.credentials.broker_url) as broker:
        for number in range(20):
            broker.flushall()
            send_greeting(product, str(number), label="flushed")
            broker.flushall()
            time.sleep(0.1)
    webhooks = arrived(receiver, "/flushed", 20)
    assert [int(each.body) for each in webhooks] == list(range(20))


def test_work_goes_on_after_the_delivery_worker_was_killed(product, receiver):
    """The supervisor starts another one; nothing is lost."""
    subscribe(product, receiver, "/survives", labels={"demo": "survives"}, fifo_mode=True)
    worker = next(
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit()
        and b"delivery" in _command(folder)
        and b"worker" in _command(folder)
        and _parent(folder) == product.process.pid
    )
    for number in range(20):
        if number == 10:
            os.kill(worker, signal.SIGKILL)
        send_greeting(product, str(number), label="survives")
    webhooks = arrived(receiver, "/survives", 20)
    numbers = list(dict.fromkeys(int(each.body) for each in webhooks))
    assert numbers == list(range(20))


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def _parent(folder: Path) -> int:
    return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
