"""The consumer of docs/how-to/consume-by-pulling.md, as its reader would run it."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import requests

from tests.browser.stage import read, send
from tests.cluster import ROOT
from tests.flow.test_first_webhook import call

pytestmark = pytest.mark.flow

PAGE = (ROOT / "docs" / "how-to" / "consume-by-pulling.md").read_text()
PATIENCE_SECONDS = 60
SLOW = """
import time

def handle(delivery):
    print("begun", delivery["payload"], flush=True)
    time.sleep(4)
    print("done", delivery["payload"], flush=True)
"""
PICKY = """
def handle(delivery):
    if delivery["attempt"] == 1:
        raise RuntimeError("not at the first try")
    print(delivery["payload"], flush=True)
"""
HANDLE = re.compile(r"def handle\(delivery\):\n    print.*\n")


@pytest.fixture
def subscription(product):
    return call(
        product, "POST", "subscriptions/", is_enabled=True, event_types=["demo.greeting.sent"],
        labels={"demo": "pulled"}, fifo_mode=True, retry_policy={"schedule_ms": [200]},
        target={"type": "pull", "lease_seconds": 2},
    )  # fmt: skip


@contextmanager
def consumer(product, subscription, handle=""):
    """The program of the page, with another `handle` perhaps; what it prints can be read."""
    program = re.search(r"## Stream.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]
    if handle:
        program, found = HANDLE.subn(lambda _: handle, program)
        assert found == 1
    environment = {
        **os.environ, "API": product.credentials.api_url, "SUBSCRIPTION": subscription["subscription_id"],
        "TOKEN": product.credentials.application_secret,
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def states(product, subscription, event):
    tries = read(product, "request_attempts/", event_id=event, subscription_id=subscription["subscription_id"])
    return [each["status"]["type"] for each in tries]


def wait_for(product, subscription, event, expected):
    ends = time.monotonic() + PATIENCE_SECONDS
    while (found := states(product, subscription, event)) != expected:
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def test_the_credentials_say_where_streams_are(product, subscription):
    address = f"{product.credentials.stream_url}/subscriptions/{subscription['subscription_id']}/stream/"
    assert subscription["target"]["stream_url"] == address
    headers = {"Authorization": f"Bearer {product.credentials.application_secret}"}
    with requests.get(address, headers=headers, stream=True, timeout=30) as answer:
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/event-stream")


def test_it_handles_what_comes_in_order_and_acknowledges_it(product, subscription):
    with consumer(product, subscription) as process:
        events = [send(product, "pulled", str(number)) for number in range(5)]
        lines = [process.stdout.readline() for _ in events]
        assert lines == [f"demo.greeting.sent {number}\n" for number in range(5)]
        for event in events:
            wait_for(product, subscription, event, ["successful"])


def test_what_it_cannot_do_comes_again_and_the_next_waits(product, subscription):
    events = [send(product, "pulled", str(number)) for number in range(2)]
    with consumer(product, subscription, PICKY) as process:
        assert [process.stdout.readline() for _ in events] == ["0\n", "1\n"]
        for event in events:
            wait_for(product, subscription, event, ["successful", "failed"])


def test_it_keeps_its_lease_while_it_works_and_finishes_before_it_stops(product, subscription):
    event, waiting = send(product, "pulled", "1"), send(product, "pulled", "2")
    with consumer(product, subscription, SLOW) as process:
        assert process.stdout.readline() == "begun 1\n"
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (rest, errors, process.returncode) == ("done 1\n", "", 0)
    assert states(product, subscription, event) == [
        "successful"
    ]  # at the first try: the lease of two seconds was extended
    with consumer(product, subscription) as process:
        assert process.stdout.readline() == "demo.greeting.sent 2\n"
        wait_for(product, subscription, waiting, ["successful"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
