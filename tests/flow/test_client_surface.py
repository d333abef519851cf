"""The published client for Python as a whole, blocking and awaiting, from ingest to a verified delivery."""

import dataclasses
import json

import pytest

from hook0 import other_problems
from tests.flow.test_first_webhook import arrived, with_hook0_client

pytestmark = pytest.mark.flow

# What the client sends; and what stands for nothing here: there are no plans, people are in the admin, and nobody
# counts visitors.
SENT = {
    "ApplicationPost", "ApplicationSecretPost", "EventPost", "EventTypePost", "ReplayEvent", "ServiceTokenPost",
    "SubscriptionPost", "SubscriptionPostTarget",
}  # fmt: skip
NEVER = {
    "InstanceConfigFormbricks", "InstanceConfigMatomo", "OrganizationInfoPlan", "OrganizationInfoUsers",
    "OrganizationPlan",
}  # fmt: skip
# Limits that are off, our own failures, and a header that the server in front of Python takes away.
UNPROVOKED = {
    "AuthInvalidAuthorizationHeaderError", "InternalServerErrorError", "RateLimitedError", "ServiceUnavailableError",
    "TooManyApplicationsPerOrganizationError", "TooManyEventTypesPerApplicationError", "TooManyEventsTodayError",
    "TooManySubscriptionsPerApplicationError",
}  # fmt: skip


@pytest.mark.parametrize("flavour", ["sync", "asyncio"])
def test_every_operation_and_model_of_the_published_client_works(product, receiver, flavour):
    given = {**dataclasses.asdict(product.credentials), "target": f"http://127.0.0.1:{receiver.port}/{flavour}"}
    walked = with_hook0_client(flavour, stdin=json.dumps(given), program="hook0_surface.py")
    assert walked.returncode == 0, walked.stderr
    report = json.loads(walked.stdout)
    assert report["forgotten"] == []
    assert report["operations"] > 35
    assert set(report["models"]) == set(report["all_models"]) - SENT - NEVER
    never = {f"{each['id']}Error" for each in other_problems.documents()}
    assert set(report["errors"]) == set(report["all_errors"]) - UNPROVOKED - never

    for webhook in arrived(receiver, f"/{flavour}", 2):
        assert webhook.headers["x-event-id"] == report["event_id"]
        assert webhook.headers["x-library"] == "yes"
        as_json = json.dumps({"headers": dict(webhook.headers), "body": webhook.body})
        assert with_hook0_client("verify", report["secret"], stdin=as_json).stdout == "genuine"
