"""The one shape of an error: every exception of the API becomes a Problem document (RFC 9457)."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from hook0 import other_problems
from tenants.problems import (
    AuthInvalidBiscuit,
    AuthNoAuthorizationHeader,
    Forbidden,
    JsonPayload,
    NotFound,
    Problem,
    Validation,
    document,
)

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5


class MethodNotAllowed(Problem):
    is_hook0s = False
    status_code = 405
    title = "Method not allowed"
    default_detail = "This address does not take this method."


class RateLimited(Problem):
    status_code = 429
    title = "Too many requests"
    default_detail = "Try again when `Retry-After` has passed."


class InternalServerError(Problem):
    status_code = 500
    title = "Something went wrong on our side"
    default_detail = "It has been logged. Try again in a moment."


class ServiceUnavailable(Problem):
    status_code = 503
    title = "Not available right now"
    default_detail = "A service we depend on does not answer. Try again in a moment."


def answer(exception: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler; None lets Django log the bug and answer through `server_error`."""
    problem = as_problem(exception)
    if problem is None:
        return None
    response = Response(document(problem), status=problem.status_code, content_type=CONTENT_TYPE)
    if isinstance(problem, AuthNoAuthorizationHeader):
        response["WWW-Authenticate"] = "Bearer"
    if problem.status_code == ServiceUnavailable.status_code:
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    elif wait := getattr(exception, "wait", None):
        response["Retry-After"] = str(int(wait))
    return response


def _unavailable(error: Exception) -> Problem:
    logger.error("The database does not answer: %s", error)
    return ServiceUnavailable()


# What a client is told of the framework's own exceptions; the first that fits counts.
_TRANSLATIONS: tuple[tuple[type[Exception], Callable[[Any], Problem]], ...] = (
    (Problem, lambda problem: problem),
    (exceptions.ValidationError, lambda error: Validation(validation=_validation(error.get_full_details()))),
    (
        exceptions.UnsupportedMediaType,
        lambda _: JsonPayload("Content-Type header should be set to 'application/json'"),
    ),
    (exceptions.ParseError, lambda error: JsonPayload(str(error.detail))),
    (exceptions.NotAuthenticated, lambda _: AuthNoAuthorizationHeader()),
    (exceptions.AuthenticationFailed, lambda _: AuthInvalidBiscuit()),
    (exceptions.PermissionDenied, lambda _: Forbidden()),
    (exceptions.NotFound, lambda _: NotFound()),
    (Http404, lambda _: NotFound()),
    (exceptions.MethodNotAllowed, lambda _: MethodNotAllowed()),
    (exceptions.Throttled, lambda _: RateLimited()),
    (OperationalError, _unavailable),  # other trouble with the database is a bug of ours
    (InterfaceError, _unavailable),
)


def as_problem(exception: Exception) -> Problem | None:
    """What a client is told of an exception; None is a bug."""
    return next((tell(exception) for kind, tell in _TRANSLATIONS if isinstance(exception, kind)), None)


def catalogue() -> list[dict[str, Any]]:
    """All problems of Hook0, by name. Its clients refuse a list with others in it."""
    ours = {kind.__name__: document(kind()) for kind in _kinds(Problem) if kind.is_hook0s}
    every = {each["id"]: each for each in other_problems.documents()} | ours
    return [every[name] for name in sorted(every)]


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    return plain(NotFound())


def server_error(_request: HttpRequest) -> JsonResponse:
    return plain(InternalServerError())


def plain(problem: Problem, *, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """The answer where no view is at work."""
    return JsonResponse(document(problem), status=problem.status_code, content_type=CONTENT_TYPE, headers=headers)


def _kinds(root: type[Problem]) -> Iterator[type[Problem]]:
    for kind in root.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _validation(details: Any) -> Any:
    """DRF's details in Hook0's words: a list of `code`, `message`, `params` per field."""
    if isinstance(details, Mapping):
        if set(details) == {"message", "code"}:
            return {"code": details["code"], "message": str(details["message"]), "params": {}}
        return {str(field): _validation(inner) for field, inner in details.items() if inner}
    if isinstance(details, list):
        return [_validation(inner) for inner in details]
    return details
