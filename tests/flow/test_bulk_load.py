"""From a file by Spark to the receiver: in the order of the load, signed, with live events in between."""

import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
import requests

from tests.cluster import ROOT
from tests.flow.test_first_webhook import arrived, call, subscribe, with_hook0_client

pytestmark = pytest.mark.flow

LOADED, LIVE, KEYS, RATE = 90, 15, 3, 10
PATIENCE_SECONDS = 90


def load(product, file):
    command = [sys.executable, "-m", "spark_ingest", "--source", str(file), "--format", "json", "--json"]
    command += ["--application-id", product.credentials.application_id, "--master", "local[2]", "--rate", str(RATE)]
    environment = {**os.environ, "DATABASE_URL": product.credentials.database_url, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=file.parent, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def shown(product, load_id):
    credentials = product.credentials
    address = f"{credentials.api_url}/bulk_loads/{load_id}"
    answer = requests.get(address, headers={"Authorization": f"Bearer {credentials.application_secret}"}, timeout=30)
    assert answer.ok, answer.text
    return answer.json()


def test_a_file_becomes_webhooks_in_the_order_of_its_times_while_live_ones_keep_theirs(product, receiver, tmp_path):
    subscription = subscribe(
        product, receiver, "/bulk", labels={"demo": "bulk"}, fifo_mode=True, fifo_key="ordering_key"
    )
    yesterday = datetime.now(UTC) - timedelta(days=1)
    events = [
        {
            "event_type": "demo.greeting.sent", "payload": json.dumps({"loaded": n}), "labels": {"demo": "bulk"},
            "payload_content_type": "application/json", "ordering_key": str(n % KEYS),
            "occurred_at": (yesterday + timedelta(seconds=n)).isoformat(),
        }
        for n in range(LOADED)
    ]  # fmt: skip
    random.Random(1).shuffle(events)
    file = tmp_path / "events.json"
    file.write_text("\n".join(map(json.dumps, events)))

    report = load(product, file)
    assert (report["loaded"], report["duplicate"], report["quarantined"]) == (LOADED, 0, 0)
    for n in range(LIVE):
        call(
            product, "POST", "event/", event_type="demo.greeting.sent", payload=json.dumps({"live": n}),
            payload_content_type="application/json", occurred_at=datetime.now(UTC).isoformat(),
            labels={"demo": "bulk"}, ordering_key=str(n % KEYS),
        )  # fmt: skip
        time.sleep(0.1)

    received = arrived(receiver, "/bulk", LOADED + LIVE)
    assert len(received) == LOADED + LIVE
    lanes = defaultdict(list)
    for webhook in received:
        lanes[webhook.headers["x-hook0-lane"]].append(webhook)
    assert len(lanes) == KEYS
    for lane in lanes.values():
        assert [int(each.headers["x-hook0-sequence"]) for each in lane] == list(range(1, len(lane) + 1))
        for kind in ("loaded", "live"):
            numbers = [body[kind] for body in (json.loads(each.body) for each in lane) if kind in body]
            assert len(numbers) == (LOADED if kind == "loaded" else LIVE) / KEYS
            assert numbers == sorted(numbers)
    bodies = [json.loads(each.body) for each in received]
    first_live = next(place for place, body in enumerate(bodies) if "live" in body)
    assert any("loaded" in body for body in bodies[first_live:]), "a live one came behind all that was loaded"
    loaded = next(each for each in received if "loaded" in each.body)
    as_json = json.dumps({"headers": dict(loaded.headers), "body": loaded.body})
    assert with_hook0_client("verify", subscription["secret"], stdin=as_json).stdout == "genuine"

    over = time.monotonic() + PATIENCE_SECONDS
    while (now := shown(product, report["load_id"]))["state"] != "done" and time.monotonic() < over:
        time.sleep(0.2)
    assert (now["state"], now["events_released"], now["deliveries"]) == ("done", LOADED, LOADED)
    released = datetime.fromisoformat(now["finished_at"]) - datetime.fromisoformat(now["loaded_at"])
    assert released >= timedelta(seconds=LOADED / RATE * 0.6), "the rate was not kept"
