"""The API's own description of itself."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from jsonschema import Draft202012Validator
from rest_framework.serializers import Serializer

from hook0.openapi_examples import EXAMPLES
from tenants.problems import Problem

SNAPSHOT = Path(settings.BASE_DIR) / "docs" / "reference" / "openapi.json"
METHODS = {"get", "post", "put", "delete"}


@pytest.fixture(scope="module")
def document():
    answer = Client().get("/api/v1/swagger.json")
    assert answer.status_code == 200
    return json.loads(answer.content)


def operations(document):
    return {
        f"{method.upper()} {path}": operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def answers(document, operation):
    for status, answer in operation["responses"].items():
        name = answer.get("$ref", "").removeprefix("#/components/responses/")
        yield status, document["components"]["responses"][name] if name else answer


def media_types(document):
    for name, operation in operations(document).items():
        for body in (operation.get("requestBody", {}), *(answer for _, answer in answers(document, operation))):
            for content_type, media_type in body.get("content", {}).items():
                yield f"{name} {content_type}", media_type


def kinds_of(root):
    for kind in root.__subclasses__():
        yield kind
        yield from kinds_of(kind)


def all_problems():
    return {kind for kind in kinds_of(Problem) if kind.__module__.endswith(".problems")}


def test_it_is_openapi_3_1_and_public(document):
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_every_operation_says_what_it_does_and_has_an_id_of_its_own(document):
    found = operations(document)
    assert len(found) > 60
    assert [name for name, operation in found.items() if not operation.get("description")] == []
    ids = [operation["operationId"] for operation in found.values()]
    assert len(ids) == len(set(ids))
    assert [id_ for id_ in ids if not re.fullmatch(r"[a-zA-Z]+\.[a-zA-Z]+", id_)] == []


def test_every_operation_has_a_summary_that_fits_a_line(document):
    summaries = {name: operation.get("summary", "") for name, operation in operations(document).items()}
    assert {name: text for name, text in summaries.items() if not 5 < len(text) < 100 or text.endswith(".")} == {}


def test_every_operation_says_with_which_problems_it_may_answer(document):
    for name, operation in operations(document).items():
        places = {parameter["in"] for parameter in operation.get("parameters", ())}
        expected = {"RateLimited", "InternalServerError", "ServiceUnavailable"}
        if operation.get("security", [{}]) != [{}]:
            expected |= {"AuthNoAuthorizationHeader", "AuthInvalidBiscuit", "Forbidden"}
        if "path" in places:
            expected |= {"NotFound"}
        if "query" in places or "requestBody" in operation:
            expected |= {"Validation"}
        if "requestBody" in operation:
            expected |= {"JsonPayload"}
        told = {}
        for status, answer in answers(document, operation):
            media_type = answer.get("content", {}).get("application/problem+json", {})
            for example in media_type.get("examples", {}).values():
                told[example["value"]["id"]] = status
                assert str(example["value"]["status"]) == status, name
        assert expected <= told.keys(), name


def test_every_problem_is_told_of_by_some_operation(document):
    told = {
        example["value"]["id"]
        for operation in operations(document).values()
        for _, answer in answers(document, operation)
        for example in answer.get("content", {}).get("application/problem+json", {}).get("examples", {}).values()
    }
    assert {kind.__name__ for kind in all_problems()} - told == {"MethodNotAllowed"}  # of no operation


def test_every_body_and_answer_has_an_example_that_keeps_its_own_schema(document):
    seen = set()
    for name, media_type in media_types(document):
        seen.add(media_type["schema"].get("$ref", media_type["schema"].get("items", {}).get("$ref")))
        examples = [each["value"] for each in media_type.get("examples", {}).values()]
        if "example" in media_type:
            examples.append(media_type["example"])
        assert examples or "enum" in media_type["schema"].get("items", {}), name
        whole = {**media_type["schema"], "components": document["components"]}
        validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
        for example in examples:
            assert [error.message for error in validator.iter_errors(example)] == [], name
    unused = EXAMPLES.keys() - {str(reference).rpartition("/")[2] for reference in seen}
    assert unused == set()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.endswith(("Post", "Put")) or name == "BatchEvent"])
def test_the_example_of_a_body_is_one_that_is_taken(name):
    body = next(kind for kind in kinds_of(Serializer) if kind.__name__ == name)(data=EXAMPLES[name])
    assert body.is_valid() or set(body.errors) <= {"since"}, body.errors  # the example's day goes by


def test_every_operation_belongs_to_a_group(document):
    assert [name for name, operation in operations(document).items() if operation.get("tags", ["v1"]) == ["v1"]] == []


def test_the_page_to_try_it_from_needs_nothing_from_elsewhere():
    page = Client().get("/api/v1/docs/").content.decode()
    assert "/api/v1/swagger.json" in page
    assert not re.findall(r'(?:src|href)="https?://', page)


def test_what_belongs_to_nobody_alone_may_be_read_without_credentials(document):
    public = {name for name, operation in operations(document).items() if {} in operation.get("security", [{}])}
    assert public == {
        f"GET /api/v1/{name}/"
        for name in ("environment_variables", "errors", "health", "instance", "payload_content_types", "quotas")
    }


def test_it_has_not_changed_unnoticed(document):
    """What clients are made from. Meant it? `manage.py spectacular --format openapi-json --file <the snapshot>`."""
    assert document == json.loads(SNAPSHOT.read_text())
