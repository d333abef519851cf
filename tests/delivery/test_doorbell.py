"""Ringing for a pump: coalesced, and never in anybody's way."""

import os
import socket
import subprocess
import sys

import pytest
from django.conf import settings
from kombu import Connection
from kombu.exceptions import OperationalError

from delivery import doorbell, tasks
from delivery.models import PumpBeacon
from tests.cluster import ROOT
from tests.factories import make_application, make_subscription, publish


@pytest.fixture
def rings(monkeypatch):
    """The messages that would be published."""
    published = []
    monkeypatch.setattr(doorbell, "_quiet_until", 0.0)
    monkeypatch.setattr(tasks.pump, "apply_async", lambda **options: published.append(options))
    return published


def test_one_ring_is_enough_for_a_while(rings):
    for _ in range(10):
        doorbell.ring()
    assert len(rings) == 1
    assert rings[0]["expires"] == doorbell.MESSAGE_LIFE_SECONDS


def test_a_broker_that_is_away_is_not_asked_again_at_once(monkeypatch):
    asked = []

    def refuse(**_):
        asked.append(1)
        raise OperationalError("connection refused")

    monkeypatch.setattr(doorbell, "_quiet_until", 0.0)
    monkeypatch.setattr(tasks.pump, "apply_async", refuse)
    for _ in range(10):
        doorbell.ring()
    assert len(asked) == 1


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_refuses_does_not_hold_anybody_up(scheme):
    """Left to itself, the client library tries again a hundred times and more."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{closed.getsockname()[1]}//"
        ring = "import django; django.setup(); from delivery import doorbell\n"
        ring += "for _ in range(10):\n    doorbell._quiet_until = 0\n    doorbell.ring()\n"
        environment = {**os.environ, "CELERY_BROKER_URL": url, "DJANGO_SETTINGS_MODULE": "hook0.settings"}
        said = subprocess.run(
            [sys.executable, "-c", ring],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    assert said.stderr.count("The broker does not answer") == 10


def test_a_message_reaches_the_queue_of_the_pumps():
    with Connection(settings.CELERY_BROKER_URL) as connection:
        queue = connection.SimpleQueue("delivery")
        queue.clear()
        doorbell._quiet_until = 0.0
        doorbell.ring()
        message = queue.get(timeout=10)
        assert message.headers["task"] == "delivery.tasks.pump"
        message.ack()


@pytest.mark.django_db(transaction=True)
def test_nobody_rings_while_a_pump_is_known_to_be_awake(rings, queue):
    application = make_application()
    publish(application)
    assert rings == []  # there was nothing to deliver
    make_subscription(application)
    queue.light_beacon(60.0)
    publish(application)
    assert rings == []
    PumpBeacon.objects.all().delete()
    publish(application)
    assert len(rings) == 1
