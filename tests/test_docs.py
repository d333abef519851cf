"""The documentation against the repository: links, commands, paths, endpoints, names."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands
from django.urls import URLPattern

from delivery import outcome
from delivery.jobs.states import OPERATIONS, State
from delivery.models import Phase
from delivery.retry import DEFAULT, FIFO_DEFAULT
from hook0 import other_problems, problems
from hook0.urls import api
from tenants.own_event_types import ANNOUNCEMENTS

ROOT = Path(settings.BASE_DIR)
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]

CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
MAKE = re.compile(r"(?:^|`)(?:[A-Z_0-9]+=\S+ )*make ([a-z]+)", re.MULTILINE)
PATH = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:sql|py))`")
FOLDER = re.compile(r"`((?:[\w.-]+/)+)`")
OURS = {
    "AttemptConflict",
    "BulkLoadConflict",
    "JobAlreadyExists",
    "JobConflict",
    "JobQueueConflict",
    "LaneConflict",
    "MethodNotAllowed",
    "StreamIsElsewhere",
    "SubscriptionIsNotPull",
    "SubscriptionIsPull",
    "TooManyTests",
}
ENDPOINT = re.compile(r"^### `([A-Z]+) (/\S*)`$", re.MULTILINE)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """What a link may name behind the #: the headings, as they are turned into ids."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code(page: Path) -> Iterator[str]:
    """The code of a page: its blocks, and what is in backticks, with them."""
    text = page.read_text()
    yield from CODE_BLOCK.findall(text)
    yield from re.findall(r"`[^`\n]+`", CODE_BLOCK.sub("", text))


@pages
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(CODE_BLOCK.sub("", page.read_text())):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} does not exist"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"


@pages
def test_every_command_that_is_named_exists(page: Path) -> None:
    targets = TARGET.findall((ROOT / "Makefile").read_text())
    for piece in code(page):
        for command in re.findall(r"manage\.py ([a-z_]+)", piece):
            assert command in get_commands(), f"there is no `manage.py {command}`"
        for target in MAKE.findall(piece):
            assert target in targets, f"there is no `make {target}`"


@pages
def test_every_path_in_backticks_exists(page: Path) -> None:
    prose = CODE_BLOCK.sub("", page.read_text())
    for path in PATH.findall(prose) + FOLDER.findall(prose):
        assert (ROOT / path).exists(), f"there is no {path}"


@pages
def test_every_setting_that_is_named_exists(page: Path) -> None:
    known = (ROOT / "docs" / "reference" / "settings.md").read_text()
    for name in re.findall(r"\b(?:HOOK0_[A-Z_]+[A-Z]|DATABASE_URL|CELERY_BROKER_URL)\b", page.read_text()):
        assert f"| `{name}` |" in known, f"there is no setting {name}"


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    assert {page for page in DOCS if page != index} == linked


def test_the_reference_of_the_api_has_every_endpoint_and_no_other() -> None:
    routes: dict[str, set[str]] = {}
    for route in api:
        assert isinstance(route, URLPattern)
        view = vars(route.callback)["view_class"]
        methods = {method for method in ("get", "post", "put", "delete") if hasattr(view, method)}
        routes["/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(route.pattern))] = {each.upper() for each in methods}
    documented: dict[str, set[str]] = {}
    for method, path in ENDPOINT.findall((ROOT / "docs" / "reference" / "api.md").read_text()):
        documented.setdefault(path, set()).add(method)
    assert documented == routes, "docs/reference/api.md has a heading like ### `GET /x/` for every endpoint"


def test_the_reference_of_the_api_has_every_problem() -> None:
    table = (ROOT / "docs" / "reference" / "api.md").read_text().partition("## Errors")[2].partition("\n## ")[0]
    rows = "\n".join(line for line in table.splitlines() if re.match(r"\| \d{3} \|", line))
    named = set(re.findall(r"`([A-Z][A-Za-z0-9]+)`", rows.replace("`Retry-After`", "")))
    elsewhere = {problem["id"] for problem in other_problems.documents()}
    assert named == {problem["id"] for problem in problems.catalogue()} - elsewhere | OURS


def test_the_reference_of_webhooks_has_every_error() -> None:
    page = (ROOT / "docs" / "reference" / "webhooks.md").read_text()
    errors = {name for name in vars(outcome) if name.startswith("E_")}
    assert set(re.findall(r"^\| `(E_\w+)` \|", page, re.MULTILINE)) == errors


def test_the_reference_of_webhooks_has_the_retries_of_the_policy() -> None:
    page = (ROOT / "docs" / "reference" / "webhooks.md").read_text()
    for name, policy in {"without order": DEFAULT, "FIFO": FIFO_DEFAULT}.items():
        waits = [policy.wait_ms(retry) or 0 for retry in range(1, policy.max_tries)]
        hours = round(sum(waits) / 3_600_000)
        assert re.search(rf"^\| {name} \| {policy.max_tries} \| .* \| about {hours} hours \|$", page, re.MULTILINE)


def test_the_reference_of_jobs_has_every_transition() -> None:
    page = (ROOT / "docs" / "reference" / "jobs.md").read_text()
    documented = {
        (operation, state): (becomes, instead, frees)
        for operation, states, becomes, instead, frees in re.findall(
            r"^\| `?([^`|]+)`? \| ([A-Z_, ]+) \| ([A-Z_]+)( or EXHAUSTED)? \| (yes|no) \|$", page, re.MULTILINE
        )
        for state in states.split(", ")
    }
    assert documented == {
        (operation, state): (step.to, " or EXHAUSTED" * step.unless_exhausted, "yes" if step.frees else "no")
        for operation, each in OPERATIONS.items()
        for state, step in each.steps.items()
    }
    described = re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)
    assert described == list(State)


def test_the_picture_of_a_lane_has_every_phase() -> None:
    picture = CODE_BLOCK.search((ROOT / "docs" / "explanation" / "lanes.md").read_text())
    assert picture
    drawn = set(re.findall(r"(\S+) --> (\w+)", picture[0]))
    assert {name for arrow in drawn for name in arrow} - {"[*]"} == {phase.name.lower() for phase in Phase}


def test_the_reference_has_all_events_of_our_own() -> None:
    section = (ROOT / "docs" / "reference" / "api.md").read_text().partition("## Events of hook0's own")[2]
    told = set(re.findall(r"`(hook0\.\w+\.\w+)`", section.partition("\n## ")[0]))
    assert told == set(ANNOUNCEMENTS)
