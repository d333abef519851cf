"""The whole API against its own OpenAPI document: requests that Schemathesis makes up, good ones and bad ones."""

import itertools
import json
import uuid

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, settings
from schemathesis import checks

from hook0.wsgi import application as wsgi
from tenants.credentials import create_application_secret, create_service_token

schema = schemathesis.openapi.from_wsgi("/api/v1/swagger.json", wsgi)
schema.config.generation.update(max_examples=10, deterministic=True, with_security_parameters=False)
checks.load_all_checks()

# What a JSON Schema cannot say: rules across fields, bytes instead of characters, cursors that only an answer gives.
BEYOND_THE_SCHEMA = [checks.CHECKS.get_one("positive_data_acceptance")]
# A batch is taken whatever is wrong with its events: the answer says it of each.
TAKEN_WITH_FLAWS = {"events.ingestBatch": [checks.CHECKS.get_one("negative_data_rejection")]}


@schemathesis.serializer("application/x-ndjson")
def a_line(context, event):
    return json.dumps(event).encode() + b"\n"


@pytest.fixture(params=["both kinds of tokens"])  # with a parameter, the tests' names tell the operations apart
def tokens(tenant):
    """Each kind in turn."""
    application, _ = tenant
    return itertools.cycle(
        [create_service_token(application.organization)[1], create_application_secret(application)[1]]
    )


@schema.parametrize()
@settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_operation_keeps_what_its_description_promises(case, tenant, tokens):
    _, ids = tenant
    assume("" not in (case.query or {}).values())  # what is empty in a query string counts as left out
    for part in (case.path_parameters, case.query, case.body):
        aim(part, ids)
    excluded = BEYOND_THE_SCHEMA + TAKEN_WITH_FLAWS.get(case.operation.definition.raw["operationId"], [])
    case.call_and_validate(headers={"Authorization": f"Bearer {next(tokens)}"}, excluded_checks=excluded)


def aim(part, ids):
    """Let what is an id be one of something that is there; a made-up one is refused before anything is looked at."""
    if isinstance(part, dict):
        for name in part.keys() & ids.keys():
            known = ids[name]
            if isinstance(known, uuid.UUID) and is_uuid(part[name]):
                part[name] = str(known)
            elif isinstance(known, int) and type(part[name]) is int:
                part[name] = known


def is_uuid(value):
    try:
        uuid.UUID(value)
    except (ValueError, TypeError, AttributeError):
        return False
    return True
