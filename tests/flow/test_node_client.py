"""The published client for JavaScript, from an event to a webhook that it verifies."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import ROOT
from tests.flow.test_first_webhook import arrived, call, subscribe

pytestmark = pytest.mark.flow

PACKAGES = Path(sys.prefix) / "clients" / "node" / "node_modules"


def with_node(*arguments: str, stdin: str = ""):
    ran = subprocess.run(
        ["node", ROOT / "tests" / "flow" / "hook0_client.cjs", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "NODE_PATH": str(PACKAGES)},
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture
def node():
    """CI must have what may be missing elsewhere."""
    if not (shutil.which("node") and PACKAGES.exists()):
        leave_out = pytest.fail if os.environ.get("CI") else pytest.skip
        leave_out("There is no node with hook0-client: install Node.js 18 or later with npm, then `make test`")


def test_an_event_sent_by_the_javascript_client_arrives_and_the_client_verifies_it(node, product, receiver):
    credentials = product.credentials
    url = f"{credentials.api_url}/"
    call(product, "POST", "event_types/", service="library", resource_type="card", verb="issued")
    call(product, "POST", "event_types/", service="library", resource_type="book", verb="returned")
    given = {"event_types": ["library.book.returned"], "labels": {"branch": "node"}}
    subscription = subscribe(product, receiver, "/node", **given)
    requests = ("send", url, credentials.application_id, credentials.application_secret)

    report = with_node(*requests)

    assert report["offered"] == [
        "Event", "EventType", "Hook0Client", "Hook0ClientError", "Signature", "verifyWebhookSignature",
        "verifyWebhookSignatureWithCurrentTime",
    ]  # fmt: skip
    assert report["addedAgain"] == []
    for refusal, problem in zip(
        report["refusals"], ["EventAlreadyIngested", "EventTypeDoesNotExist", "AuthInvalidBiscuit"], strict=True
    ):
        assert problem in refusal
    webhooks = arrived(receiver, "/node", 2)
    assert {each.headers["x-event-id"] for each in webhooks} == set(report["sent"])
    for webhook in webhooks:
        as_json = json.dumps({"headers": dict(webhook.headers), "body": webhook.body})
        assert with_node("verify", subscription["secret"], stdin=as_json) == "genuine"
