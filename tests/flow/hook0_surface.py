"""All that the published `hook0-client` offers, called against a running server; run as hook0_client.py is.

hook0_surface.py sync|asyncio < {credentials, "target": URL}     prints what test_client_surface.py looks at
"""

import asyncio
import base64
import dataclasses
import inspect
import json
import sys
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from hook0.generated import errors, models
from hook0.generated.models import (
    ApplicationPost,
    ApplicationSecretPost,
    EventPost,
    EventTypePost,
    ReplayEvent,
    ServiceTokenPost,
    SubscriptionPost,
    SubscriptionPostTarget,
)
from hook0_calls import Client, awaited, exception_of

import hook0

PATIENCE_SECONDS = 60
EVENT_TYPE = "library.book.returned"


async def walk(flavour: str, given: dict[str, str]) -> dict[str, Any]:
    url = given["api_url"]
    whole = Client(flavour, url, given["service_token"])
    application = await manage_applications(whole, given["organization_id"])
    secret = await whole.call("ApplicationSecrets.create", ApplicationSecretPost(application, "mine"))
    inside = Client(flavour, url, str(secret.token))

    problems = await read_what_is_public(inside)
    await declare_event_types(inside, application)
    subscription = await subscribe(inside, application, given["target"])
    event_id = await send(inside, application)
    await read_deliveries(inside, application, subscription.subscription_id, event_id)
    await count_days(whole, application, given["organization_id"])
    await use_the_client_written_by_hand(flavour, url, str(application), str(secret.token))
    await be_refused(flavour, url, whole, inside, application, given["organization_id"])
    await manage_service_tokens(flavour, url, whole, given["organization_id"])
    await decode_organizations(whole, given["organization_id"])
    await clear_away(whole, inside, application, subscription.subscription_id, secret.token)
    return {
        "forgotten": sorted(whole.operations() - Client.called),
        "operations": len(Client.called),
        "models": sorted(Client.seen_models),
        "all_models": sorted(name for name, kind in vars(models).items() if is_model(kind)),
        "all_errors": sorted(f"{problem.id_.value}Error" for problem in problems),
        "errors": sorted(Client.seen_errors),
        "secret": str(subscription.secret),
        "event_id": str(event_id),
    }


def is_model(kind: Any) -> bool:
    return inspect.isclass(kind) and kind.__module__ == models.__name__


async def manage_applications(whole: Client, organization: str) -> uuid.UUID:
    created = await whole.call("Applications.create", ApplicationPost("Library", uuid.UUID(organization)))
    assert created.name == "Library"
    changed = ApplicationPost("Lending library", uuid.UUID(organization))
    assert (await whole.call("Applications.update", created.application_id, changed)).name == "Lending library"
    assert created.application_id in {
        each.application_id for each in await whole.call("Applications.list", organization)
    }
    info = await whole.call("Applications.get", created.application_id)
    assert (info.name, info.onboarding_steps.event.value) == ("Lending library", "ToDo")
    return created.application_id


async def read_what_is_public(client: Client) -> list[models.Problem]:
    assert (await client.call("Instance.get")).application_secret_compatibility
    assert (await client.call("Quotas.get")).limits.global_events_per_day_limit > 0
    assert "application/json" in await client.call("PayloadContentTypes.list")
    return await client.call("Errors.list")


async def declare_event_types(client: Client, application: uuid.UUID) -> None:
    for verb in ("returned", "lost"):
        created = await client.call("EventTypes.create", EventTypePost(application, "book", "library", verb))
        assert (await client.call("EventTypes.get", created.event_type_name, application)) == created
    await client.call("EventTypes.delete", "library.book.lost", application)
    assert [each.event_type_name for each in await client.call("EventTypes.list", application)] == [EVENT_TYPE]


async def subscribe(client: Client, application: uuid.UUID, target: str) -> models.Subscription:
    wanted = SubscriptionPost(
        application,
        [EVENT_TYPE],
        True,
        SubscriptionPostTarget({"X-Library": "yes"}, "POST", "http", target),
        description="Shelves",
        labels={"branch": "north"},
        metadata={"floor": "2"},
    )
    created = await client.call("Subscriptions.create", wanted)
    assert (created.labels, created.target.url, created.is_enabled) == ({"branch": "north"}, target, True)
    changed = dataclasses.replace(wanted, description="Returns")
    assert (await client.call("Subscriptions.update", created.subscription_id, changed)).description == "Returns"
    assert (await client.call("Subscriptions.get", created.subscription_id)).secret == created.secret
    assert [each.subscription_id for each in await client.call("Subscriptions.list", application)] == [
        created.subscription_id
    ]
    return created


async def send(client: Client, application: uuid.UUID) -> uuid.UUID:
    sent = event(application, event_id=uuid.uuid4(), metadata={"trace": "1"})
    ingested = await client.call("Events.ingest", sent)
    assert (ingested.event_id, ingested.application_id) == (sent.event_id, application)
    read = await client.call("Events.get", sent.event_id, application)
    assert base64.b64decode(read.payload).decode() == sent.payload
    assert (read.occurred_at, read.metadata) == (sent.occurred_at, {"trace": "1"})
    assert [each.event_id for each in await client.call("Events.list", application)] == [sent.event_id]
    return sent.event_id


def event(application: uuid.UUID, **overrides: Any) -> EventPost:
    fields = {
        "application_id": application,
        "event_type": EVENT_TYPE,
        "labels": {"branch": "north"},
        "occurred_at": datetime.now(UTC),
        "payload": '{"title": "Émile"}',
        "payload_content_type": "application/json",
        **overrides,
    }
    return EventPost(**fields)


async def read_deliveries(client: Client, application: uuid.UUID, subscription: uuid.UUID, event_id: uuid.UUID) -> None:
    (attempt,) = await successful(client, application, event_id, 1)
    assert attempt.subscription.subscription_id == subscription
    assert attempt.event.event_type_name == EVENT_TYPE
    assert await client.call("RequestAttempts.get", attempt.request_attempt_id, application) == attempt
    answer = await client.call("Response.get", attempt.response_id, application)
    assert answer.http_code == attempt.http_response_status == 200
    await client.call("Events.replay", event_id, ReplayEvent(application))
    await successful(client, application, event_id, 2)
    narrowed = await client.call(
        "RequestAttempts.read",
        application,
        event_event_type_names=EVENT_TYPE,
        subscription_id=str(subscription),
        min_created_at=attempt.created_at.isoformat(),
        max_created_at=datetime.now(UTC).isoformat(),
    )
    assert len(narrowed) == 2


async def successful(client: Client, application: uuid.UUID, event_id: uuid.UUID, count: int) -> list[Any]:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_SECONDS:
        attempts = await client.call("RequestAttempts.read", application, event_id=str(event_id))
        if [each.status.type_.value for each in attempts] == ["successful"] * count:
            return attempts
        await asyncio.sleep(0.05)
    raise AssertionError(f"The event was not delivered {count} times: {attempts}")


async def count_days(client: Client, application: uuid.UUID, organization: str) -> None:
    today = datetime.now(UTC).date().isoformat()
    (mine,) = await client.call("EventsPerDay.list_for_application", application)
    assert mine.amount == 1
    days = await client.call("EventsPerDay.list_for_organization", organization, from_="2020-01-01", to=today)
    assert mine.application_id in {each.application_id for each in days}


async def use_the_client_written_by_hand(flavour: str, url: str, application: str, token: str) -> None:
    kind = hook0.Hook0Client if flavour == "sync" else hook0.Hook0AsyncClient
    client = kind(url, application, token)
    assert await awaited(client.upsert_event_types, [EVENT_TYPE, "library.card.issued"]) == ["library.card.issued"]
    assert await awaited(client.upsert_event_types, [EVENT_TYPE, "library.card.issued"]) == []
    wanted = hook0.Event("library.card.issued", "plain", "text/plain", {"branch": "south"}, event_id=str(uuid.uuid4()))
    assert await awaited(client.send_event, wanted) == wanted.event_id
    repeat = await exception_of(awaited(client.send_event, wanted))
    assert isinstance(repeat, hook0.Hook0ClientError)
    assert hook0.ALREADY_INGESTED in str(repeat)


async def be_refused(
    flavour: str, url: str, whole: Client, inside: Client, application: uuid.UUID, organization: str
) -> None:
    nobody = Client(flavour, url, "")
    await nobody.refused(errors.AuthNoAuthorizationHeaderError, "Events.list", application)
    stranger = Client(flavour, url, "nonsense")
    await stranger.refused(errors.AuthInvalidBiscuitError, "Events.list", application)

    # What is asked of an organization is refused to an application secret.
    post, token = ApplicationPost("Other", uuid.UUID(organization)), ServiceTokenPost("Other", uuid.UUID(organization))
    for operation, *arguments in (
        ("Applications.create", post),
        ("Applications.list", organization),
        ("EventsPerDay.list_for_organization", organization),
        ("ServiceToken.create", token),
        ("ServiceToken.list", organization),
        ("ServiceToken.get", uuid.uuid4(), organization),
        ("ServiceToken.edit", uuid.uuid4(), token),
        ("ServiceToken.delete", uuid.uuid4(), organization),
    ):
        await inside.refused(errors.ForbiddenError, operation, *arguments)

    unknown = uuid.uuid4()
    await whole.refused(errors.ForbiddenError, "Events.list", unknown)
    for operation, *arguments in (
        ("Events.get", unknown, application),
        ("Events.replay", unknown, ReplayEvent(application)),
        ("EventTypes.get", "a.b.c", application),
        ("EventTypes.delete", "a.b.c", application),
        ("RequestAttempts.get", unknown, application),
        ("Response.get", unknown, application),
        ("Subscriptions.get", unknown),
        ("Subscriptions.delete", unknown, application),
        ("ApplicationSecrets.delete", unknown, application),
    ):
        await inside.refused(errors.NotFoundError, operation, *arguments)

    twice = event(application, event_id=uuid.uuid4(), labels={"branch": "south"})
    await inside.call("Events.ingest", twice)
    for error, refused in (
        (errors.EventAlreadyIngestedError, twice),
        (errors.EventTypeDoesNotExistError, event(application, event_type="library.book.burnt")),
        (errors.EventInvalidPayloadContentTypeError, event(application, payload_content_type="image/png")),
        (errors.EventInvalidJsonPayloadError, event(application, payload="{")),
        (
            errors.EventInvalidBase64PayloadError,
            event(application, payload="?", payload_content_type="application/octet-stream+base64"),
        ),
        (errors.ValidationError, event(application, labels={})),
        (errors.JsonPayloadError, event(application, payload="x" * 2_200_000)),
    ):
        await inside.refused(error, "Events.ingest", refused)
    target = SubscriptionPostTarget({}, "POST", "http", "https://example.com/")
    without = SubscriptionPost(application, [EVENT_TYPE], True, target)
    await inside.refused(errors.LabelsAmbiguityError, "Subscriptions.create", without)
    theirs = dataclasses.replace(without, labels={"a": "b"}, dedicated_workers=["nobody"])
    await inside.refused(errors.UnauthorizedWorkersError, "Subscriptions.create", theirs)
    days = {"from_": "2026-02-02", "to": "2026-02-01"}
    await inside.refused(errors.InvalidDateRangeError, "EventsPerDay.list_for_application", application, **days)


async def manage_service_tokens(flavour: str, url: str, whole: Client, organization: str) -> None:
    mine = uuid.UUID(organization)
    created = await whole.call("ServiceToken.create", ServiceTokenPost("night shift", mine))
    other = Client(flavour, url, created.biscuit)
    assert (await other.call("ServiceToken.get", created.token_id, organization)).name == "night shift"
    renamed = await other.call("ServiceToken.edit", created.token_id, ServiceTokenPost("day shift", mine))
    assert renamed.name == "day shift"
    assert created.token_id in {each.token_id for each in await other.call("ServiceToken.list", organization)}
    await whole.call("ServiceToken.delete", created.token_id, organization)
    await until_refused(other, "ServiceToken.list", organization)


async def decode_organizations(client: Client, organization: str) -> None:
    """The client has models for these, and no operation."""
    for path, model, many in (
        ("/api/v1/organizations/", models.Organization, True),
        (f"/api/v1/organizations/{organization}/", models.OrganizationInfo, False),
    ):
        status, payload = await awaited(client.transport.request, "GET", path, [])
        assert status == 200, payload
        found = json.loads(payload)
        for document in found if many else [found]:
            client.came_back(model.from_json(document))


async def clear_away(
    whole: Client, inside: Client, application: uuid.UUID, subscription: uuid.UUID, token: uuid.UUID
) -> None:
    await inside.call("Subscriptions.delete", subscription, application)
    await inside.refused(errors.NotFoundError, "Subscriptions.get", subscription)
    renamed = await whole.call("ApplicationSecrets.update", token, ApplicationSecretPost(application, "old"))
    assert (renamed.name, renamed.token) == ("old", token)
    assert {each.name for each in await whole.call("ApplicationSecrets.read", application)} == {"Default", "old"}
    await whole.call("ApplicationSecrets.delete", token, application)
    await until_refused(inside, "Events.list", application)
    await whole.call("Applications.delete", application)
    await until_refused(whole, "Applications.get", application)


async def until_refused(client: Client, operation: str, *arguments: Any) -> None:
    """What was revoked is refused within seconds."""
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_SECONDS:
        refused = await exception_of(client.call(operation, *arguments))
        if isinstance(refused, errors.AuthInvalidBiscuitError | errors.ForbiddenError):
            return
        assert refused is None, refused
        await asyncio.sleep(0.1)
    raise AssertionError(f"{operation} was not refused")


if __name__ == "__main__":
    json.dump(asyncio.run(walk(sys.argv[1], json.load(sys.stdin))), sys.stdout)
