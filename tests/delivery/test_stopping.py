"""SIGTERM: what is in flight is finished and written down, and nothing more is claimed."""

import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from django.db import connection

from delivery.models import AttemptLog, Lane, Phase, RequestAttempt
from hook0.receiver import Behaviour
from tests.cluster import ROOT
from tests.factories import make_fifo, make_subscription, publish

PATIENCE_SECONDS = 30


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_pump_that_is_told_to_stop_finishes_what_is_in_flight(application, receiver, number):
    url = f"http://127.0.0.1:{receiver.port}"
    make_fifo(application, url=f"{url}/lane", max_in_flight=1)
    make_subscription(application, url=f"{url}/plain", max_in_flight=1)
    for path in ("/lane", "/plain"):
        receiver.behaviours[path] = Behaviour(delay_ms=1500)
    publish(application, 3)
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    environment = os.environ | {"DATABASE_URL": database.geturl()}
    process = subprocess.Popen([sys.executable, "manage.py", "deliver"], cwd=ROOT, env=environment)
    try:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not (
            Lane.objects.filter(phase=Phase.RUNNING).exists()
            and RequestAttempt.objects.exclude(lease_until=None).exists()
        ):
            assert time.monotonic() < ends
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
    assert sorted(each.path for each in receiver.received) == ["/lane", "/plain"]
    assert list(AttemptLog.objects.values_list("succeeded", "accepted")) == [(True, True)] * 2
    assert RequestAttempt.objects.filter(lease_until=None).count() == 4
    assert Lane.objects.get().phase == Phase.WAITING  # nobody has to wait for a lease to end
