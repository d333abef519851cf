"""What the OpenAPI document says of every operation by itself: a summary, and with which problems it may answer."""

import re
from collections import defaultdict
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from drf_spectacular.openapi import AutoSchema

from hook0.problems import CONTENT_TYPE, InternalServerError, RateLimited, ServiceUnavailable
from tenants.problems import (
    AuthInvalidAuthorizationHeader,
    AuthInvalidBiscuit,
    AuthNoAuthorizationHeader,
    Forbidden,
    JsonPayload,
    NotFound,
    Problem,
    ProblemAnswer,
    Validation,
    document,
    problems_of,
)

_FIRST_SENTENCE = re.compile(r"(.+?)[.:;](?:\s|$)", re.DOTALL)


class Operation(AutoSchema):
    """An operation, with the problems that its parts may bring: credentials, a body, a query string, a path."""

    def get_summary(self) -> str | None:
        sentence = _FIRST_SENTENCE.match(self.get_description())
        return sentence[1] if sentence else None

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation:
            by_status: defaultdict[int, dict[str, Problem]] = defaultdict(dict)
            for kind in self._problems(operation):
                by_status[kind.status_code][kind.__name__] = kind()
            for status, answer in operation["responses"].items():
                answer["description"] = answer["description"] or HTTPStatus(int(status)).phrase
            for status, problems in sorted(by_status.items()):
                answers = operation["responses"].setdefault(str(status), {"content": {}})
                answers["description"] = "\n".join(
                    f"* `{name}` - {problem.title}" for name, problem in sorted(problems.items())
                )
                answers["content"][CONTENT_TYPE] = self._media_type(problems)
        return operation

    def _get_serializer_field_meta(self, field: Any, direction: Any) -> dict[str, Any]:
        """Texts in answers may be empty, whatever a request may say."""
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        if direction == "response":
            meta.pop("minLength", None)
        return meta

    def _problems(self, operation: dict[str, Any]) -> Iterator[type[Problem]]:
        if any(operation.get("security", ())):
            yield from (AuthNoAuthorizationHeader, AuthInvalidAuthorizationHeader, AuthInvalidBiscuit, Forbidden)
        places = {parameter["in"] for parameter in operation.get("parameters", ())}
        if "requestBody" in operation:
            yield from (JsonPayload, Validation)
        if "query" in places:
            yield Validation
        if "path" in places:
            yield NotFound
        yield from problems_of(getattr(self.view, self.method.lower()))
        yield from (RateLimited, InternalServerError, ServiceUnavailable)

    def _media_type(self, problems: dict[str, Problem]) -> dict[str, Any]:
        shape = self.resolve_serializer(ProblemAnswer, "response").ref
        return {
            "schema": {"allOf": [shape, {"properties": {"id": {"enum": sorted(problems)}}}]},
            "examples": {name: {"value": document(problem)} for name, problem in sorted(problems.items())},
        }


def share_answers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Write down once with which problems many operations may answer."""
    shared = result["components"]["responses"] = {}
    for item in result["paths"].values():
        for operation in item.values():
            for status, answer in operation["responses"].items():
                if list(answer.get("content", ())) == [CONTENT_TYPE]:
                    name = ".".join(answer["content"][CONTENT_TYPE]["examples"])
                    shared[name] = answer
                    operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return result
