"""The demo: the same events to a FIFO subscription and to an ordinary one, with an endpoint that stumbles."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests

from hook0.installation import Credentials

EVENT_TYPE = "demo.order.moved"
STEPS = ("created", "paid", "packed", "shipped", "delivered", "returned", "refunded", "closed")
STUMBLES_AT = "paid"  # the second step fails twice before it goes through
STUMBLES = 2
SCHEDULE_MS = [400, 800, 1600, 3200]
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Arrival:
    """A webhook at the receiver, by one of the two ways."""

    at: float
    step: str
    attempt: int
    answered: int


class Api:
    """The two servers the demo talks to."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {credentials.application_secret}"

    def post(self, path: str, **body: Any) -> Any:
        body["application_id"] = self._credentials.application_id
        answer = self._session.post(f"{self._credentials.api_url}/{path}", json=body, timeout=15)
        if not answer.ok:
            raise RuntimeError(f"POST {path} was answered {answer.status_code}: {answer.text}")
        return answer.json()

    def received(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = requests.get(f"{self._credentials.receiver_url}/_received", timeout=15).json()
        return found

    def behave(self, path: str, **behaviour: Any) -> None:
        url = f"{self._credentials.receiver_url}/_behaviour{path}"
        requests.put(url, json=behaviour, timeout=15).raise_for_status()


def run(credentials: Credentials, say: Callable[[str], object]) -> bool:
    """Play the demo; whether the FIFO subscription got everything in order."""
    api, order = Api(credentials), uuid.uuid4().hex[:6]
    paths = {"FIFO": f"/fifo-{order}", "ordinary": f"/ordinary-{order}"}

    say(f"1. Two subscriptions to {EVENT_TYPE}: one with fifo_mode, one without.")
    service, resource_type, verb = EVENT_TYPE.split(".")
    api.post("event_types/", service=service, resource_type=resource_type, verb=verb)
    for name, path in paths.items():
        api.post(
            "subscriptions/",
            is_enabled=True,
            event_types=[EVENT_TYPE],
            description=f"Demo {order}, {name}",
            labels={"order": order},
            target={
                "type": "http",
                "method": "POST",
                "url": credentials.receiver_url + path,
                "headers": {},
            },
            fifo_mode=name == "FIFO",
            retry_policy={"schedule_ms": SCHEDULE_MS},
        )

    say(f'2. Order {order} goes through {len(STEPS)} steps. Both endpoints answer 500 to "{STUMBLES_AT}", twice.')
    for path in paths.values():
        api.behave(path, status=500, times=STUMBLES, only=f'"{STUMBLES_AT}"')
    for step in STEPS:
        payload = json.dumps({"order": order, "step": step})
        api.post(
            "event/",
            event_type=EVENT_TYPE,
            payload=payload,
            payload_content_type="application/json",
            occurred_at=datetime.now(UTC).isoformat(),
            labels={"order": order},
        )

    say("3. What arrived, and when:\n")
    began = time.time()
    arrivals: dict[str, list[Arrival]] = {}
    while time.time() - began < PATIENCE_SECONDS:
        webhooks = api.received()
        arrivals = {name: list(_arrivals(webhooks, path)) for name, path in paths.items()}
        if all(len(_delivered(each)) == len(STEPS) for each in arrivals.values()):
            break
        time.sleep(0.2)
    for name, each in arrivals.items():
        for line in timeline(name, each):
            say(line)
    return _delivered(arrivals.get("FIFO", [])) == list(STEPS)


def timeline(name: str, arrivals: Sequence[Arrival]) -> Iterator[str]:
    """A column of what happened at one endpoint, and the verdict."""
    yield f"   {name} subscription"
    start = arrivals[0].at if arrivals else 0.0
    for each in arrivals:
        mark = "ok " if each.answered == 200 else str(each.answered)
        retry = f"   (try {each.attempt})" if each.attempt > 1 else ""
        yield f"     {each.at - start:6.2f} s   {mark}   {each.step}{retry}"
    delivered = _delivered(arrivals)
    if delivered == list(STEPS):
        verdict = "in order"
    elif sorted(delivered) == sorted(STEPS):
        verdict = "everything arrived, NOT in order"
    else:
        verdict = f"{len(delivered)} of {len(STEPS)} arrived"
    yield f"     => {verdict}: {' '.join(delivered)}\n"


def _arrivals(webhooks: Sequence[dict[str, Any]], path: str) -> Iterator[Arrival]:
    for webhook in sorted(webhooks, key=lambda each: each["number"]):
        if webhook["path"] == path:
            step = json.loads(webhook["body"])["step"]
            yield Arrival(webhook["at"], step, int(webhook["headers"]["x-hook0-attempt"]), webhook["answered"])


def _delivered(arrivals: Sequence[Arrival]) -> list[str]:
    return [each.step for each in arrivals if each.answered == 200]
