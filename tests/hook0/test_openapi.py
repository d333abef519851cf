"""The API's own description of itself."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

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
