"""Talking to the API as a client does."""

import json
from typing import Any

from django.test import Client

from tenants.credentials import create_application_secret, create_service_token
from tenants.models import Application, Organization


class ApiClient:
    """The API with one token: `api.post("/event/", {...})`."""

    def __init__(self, token: str | None) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, **query: Any) -> Any:
        return self._client.get(f"/api/v1{path}", query, headers=self._headers)

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Any:
        content_type = headers.pop("content_type", "application/json")
        data = raw if raw is not None else json.dumps(body, default=str).encode()
        return self._client.post(
            f"/api/v1{path}", data, content_type=content_type, headers={**self._headers, **headers}
        )

    def put(self, path: str, body: Any = None) -> Any:
        return self._client.put(
            f"/api/v1{path}", json.dumps(body, default=str), content_type="application/json", headers=self._headers
        )

    def delete(self, path: str, **query: Any) -> Any:
        return self._client.delete(f"/api/v1{path}", query_params=query, headers=self._headers)


def as_application(application: Application) -> ApiClient:
    return ApiClient(create_application_secret(application)[1])


def as_organization(organization: Organization) -> ApiClient:
    return ApiClient(create_service_token(organization)[1])


def problem(answer: Any, status: int, name: str) -> Any:
    """The Problem document of an answer, which must have this status and id."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    document = answer.json()
    assert set(document) == {"type", "id", "title", "detail", "status", "validation"}
    assert (document["id"], document["status"]) == (name, status)
    return document
