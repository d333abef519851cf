"""`POST /subscriptions/{id}/rotate_secret`: who can verify what, before, during and after the overlap."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from delivery.models import OperatorAction
from delivery.signatures import hook0_signature, standard_signature
from subscriptions.models import Subscription
from tests.clients import as_application, problem
from tests.factories import make_application, make_subscription, publish


@pytest.fixture
def subscription(application, receiver):
    return make_subscription(application, url=f"http://127.0.0.1:{receiver.port}/hook")


@pytest.fixture
def verified_by(application, pump, receiver):
    """Which of some secrets verify the next webhook: by Hook0's signature, and by that of Standard Webhooks."""

    def verified_by(**secrets):
        publish(application)
        pump.run()
        webhook = receiver.received[-1]
        headers, timestamp = webhook.headers, int(webhook.headers["webhook-timestamp"])
        signature = headers["x-hook0-signature"]
        names = signature.partition(",h=")[2].partition(",v1=")[0].split()
        covered = [(name, headers[name]) for name in names]
        body = webhook.body.encode() if isinstance(webhook.body, str) else webhook.body
        hook0s = [
            name
            for name, secret in secrets.items()
            if hook0_signature(str(secret), timestamp=timestamp, headers=covered, body=body) == signature
        ]
        standards = [
            name
            for name, secret in secrets.items()
            if standard_signature(str(secret), message_id=headers["webhook-id"], timestamp=timestamp, body=body)
            in headers["webhook-signature"].split(" ")
        ]
        return hook0s, standards

    return verified_by


def rotate(api, subscription, **body):
    return api.post(f"/subscriptions/{subscription.id}/rotate_secret", body)


def test_while_they_overlap_nobody_who_has_either_secret_loses_a_webhook(api, subscription, verified_by):
    answer = rotate(api, subscription, reason="it leaked")
    rotated = answer.json()
    until = datetime.fromisoformat(rotated["previous_secret_until"]) - datetime.now(UTC)
    assert timedelta(hours=23) < until <= timedelta(hours=24)
    secrets = {"old": subscription.secret, "new": rotated["secret"]}
    assert verified_by(**secrets) == (["old"], ["old", "new"])
    assert api.get(f"/subscriptions/{subscription.id}").json()["secret"] == rotated["secret"]
    action = OperatorAction.objects.get()
    assert (action.action, action.reason, action.details) == ("rotate_secret", "it leaked", {"overlap_seconds": 86_400})
    Subscription.objects.update(previous_secret_until=datetime.now(UTC) - timedelta(seconds=1))
    assert verified_by(**secrets) == (["new"], ["new"])


def test_without_an_overlap_the_old_secret_is_void_at_once(api, subscription, verified_by):
    rotated = rotate(api, subscription, overlap_seconds=0).json()
    assert rotated["previous_secret_until"] is None
    assert verified_by(old=subscription.secret, new=rotated["secret"]) == (["new"], ["new"])


def test_of_two_rotations_the_last_two_secrets_overlap(api, subscription, verified_by):
    second, third = (rotate(api, subscription).json()["secret"] for _ in range(2))
    found = verified_by(first=subscription.secret, second=second, third=third)
    assert found == (["second"], ["second", "third"])


@pytest.mark.parametrize("overlap_seconds", [-1, 604_801, "soon", None])
def test_the_overlap_is_a_week_at_most(api, subscription, overlap_seconds):
    bad = problem(rotate(api, subscription, overlap_seconds=overlap_seconds), 422, "Validation")
    assert set(bad["validation"]) == {"overlap_seconds"}
    assert Subscription.objects.get().secret == subscription.secret


def test_strangers_rotate_nothing(subscription):
    stranger = as_application(make_application())
    problem(rotate(stranger, subscription), 404, "NotFound")
    problem(stranger.post(f"/subscriptions/{uuid.uuid4()}/rotate_secret", {}), 404, "NotFound")
    assert Subscription.objects.get().secret == subscription.secret
