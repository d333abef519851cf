"""What there is to operate: subscriptions that are well, that fail, that block, and what they were sent."""

import time
from typing import Any

import requests

from hook0.receiver import Receiver
from tests.flow.conftest import Product
from tests.flow.test_first_webhook import call, subscribe

PATIENCE_SECONDS = 60.0


def read(product: Product, path: str, **query: Any) -> Any:
    """What the API answers to a look."""
    credentials = product.credentials
    answer = requests.get(
        f"{credentials.api_url}/{path}",
        params={"application_id": credentials.application_id, **query},
        headers={"Authorization": f"Bearer {credentials.application_secret}"},
        timeout=30,
    )
    assert answer.ok, answer.text
    return answer.json()


def send(product: Product, label: str, payload: str = '{"hello": "world"}', **overrides: Any) -> str:
    """An event for the subscriptions of this label; its id."""
    event = call(
        product,
        "POST",
        "event/",
        **{
            "event_type": "demo.greeting.sent",
            "payload": payload,
            "payload_content_type": "application/json",
            "occurred_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "labels": {"demo": label},
            **overrides,
        },
    )
    return str(event["event_id"])


def subscribe_blocking(product: Product, receiver: Receiver, name: str) -> Any:
    """A FIFO subscription whose lane stops at the first failure."""
    return subscribe(
        product,
        receiver,
        f"/{name}",
        description=name,
        labels={"demo": name},
        fifo_mode=True,
        fifo_on_exhausted="block",
        retry_policy={"schedule_ms": []},
    )


def wait_for_lane(product: Product, subscription_id: str, state: str) -> Any:
    """The subscription's lane, as soon as it is in this state."""
    began = time.monotonic()
    while True:
        lanes = read(product, "lanes/", subscription_id=subscription_id)
        if lanes and lanes[0]["state"] == state:
            return lanes[0]
        assert time.monotonic() < began + PATIENCE_SECONDS, lanes
        time.sleep(0.1)
