"""Errors that a client sees: each is a class, raised where it happens and answered as Problem+JSON.

Every app keeps its own; `hook0.problems` translates the framework's exceptions into them and lists them all.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import APIException


class Problem(APIException):
    """What went wrong, as RFC 9457 has it; the id is the name of the class."""

    status_code = 500
    title = "Something went wrong"
    is_hook0s = True  # False: one of ours, which Hook0's clients do not know by its id
    default_detail = "We have logged it. Try again in a moment."

    def __init__(self, detail: str | None = None, *, validation: dict[str, Any] | None = None) -> None:
        super().__init__(detail or self.default_detail, code=type(self).__name__)
        self.validation = validation


class ProblemAnswer(serializers.Serializer[Any]):
    """A `document`, for the OpenAPI document."""

    type = serializers.URLField()
    id = serializers.CharField(help_text="What programs go by.")
    title = serializers.CharField()
    detail = serializers.CharField()
    status = serializers.IntegerField()
    validation = serializers.DictField(
        allow_null=True, help_text="Of `Validation`: for each field a list of `{code, message, params}`."
    )


def document(problem: Problem) -> dict[str, Any]:
    """What a client reads of a problem."""
    about = describe(type(problem).__name__, problem.status_code, title=problem.title, detail=str(problem.detail))
    return about | {"validation": problem.validation}


def describe(name: str, status: int, *, title: str, detail: str) -> dict[str, Any]:
    """The shape of all problems, by their ids."""
    return {
        "type": f"{settings.PUBLIC_URL}/api/v1/errors/#{name.lower()}",
        "id": name,
        "title": title,
        "detail": detail,
        "status": status,
        "validation": None,
    }


Method = TypeVar("Method", bound=Callable[..., Any])


def raises(*kinds: type[Problem]) -> Callable[[Method], Method]:
    """Say of a view's method which problems it has of its own, for the OpenAPI document."""

    def mark(method: Method) -> Method:
        vars(method)["problems"] = kinds
        return method

    return mark


def problems_of(method: Callable[..., Any]) -> Sequence[type[Problem]]:
    """What `raises` says of it."""
    return getattr(method, "problems", ())


class JsonPayload(Problem):
    status_code = 400
    title = "The body is not readable JSON"
    default_detail = "Send a JSON document with the header `Content-Type: application/json`."


class Validation(Problem):
    status_code = 422
    title = "Some fields will not do"
    default_detail = "`validation` names each field and what is wrong with it."


class AuthNoAuthorizationHeader(Problem):
    status_code = 401
    title = "No credentials"
    default_detail = "Send your application secret or service token as `Authorization: Bearer <token>`."


class AuthInvalidAuthorizationHeader(Problem):
    status_code = 400
    title = "Unreadable Authorization header"
    default_detail = "The Authorization header holds characters that no token has."


class AuthInvalidBiscuit(Problem):
    status_code = 403
    title = "Unknown token"
    default_detail = "The token is unknown, revoked or expired."


class Forbidden(Problem):
    status_code = 403
    title = "Not allowed"
    default_detail = "The token does not give access to this, or it does not exist."


class NotFound(Problem):
    status_code = 404
    title = "Not found"
    default_detail = "There is nothing under this address, or the token does not give access to it."


class EventTypeDoesNotExist(Problem):
    status_code = 400
    title = "Unknown event type"
    default_detail = "The application has no active event type of this name. Create it first."


class TooManyApplicationsPerOrganization(Problem):
    status_code = 429
    title = "Too many applications"
    default_detail = "The organization has as many applications as its quota allows."


class TooManyEventTypesPerApplication(Problem):
    status_code = 429
    title = "Too many event types"
    default_detail = "The application has as many active event types as its quota allows."
