import pytest

from hook0 import problems
from tests.clients import ApiClient, problem

HOOK0S = {
    "EventTypeDoesNotExist", "EventInvalidPayloadContentType", "EventInvalidBase64Payload", "EventInvalidJsonPayload",
    "LabelsAmbiguity", "AuthInvalidAuthorizationHeader", "JsonPayload", "AuthNoAuthorizationHeader",
    "AuthInvalidBiscuit", "Forbidden", "NotFound", "EventAlreadyIngested", "Validation", "RateLimited",
    "InternalServerError", "ServiceUnavailable", "TooManyApplicationsPerOrganization", "TooManyEventsToday",
    "TooManyEventTypesPerApplication", "TooManySubscriptionsPerApplication",
}  # fmt: skip
NOT_HERE = {
    "OrganizationNameMissing", "UserAlreadyExist", "RegistrationDisabled", "PasswordTooShort", "PasswordTooLong",
    "PasswordSimilarToEmail", "PasswordSimilarToName", "PasswordTooCommon", "PasswordNotDiverseEnough",
    "OrganizationIsNotEmpty", "InvitedUserDoesNotExist", "InvitedUserAlreadyInOrganization", "ApplicationNameMissing",
    "InvalidRole", "EventTypeAlreadyExist", "UnauthorizedWorkers", "InvalidDateRange",
    "AuthApplicationSecretLookupError", "AuthInvalidApplicationSecret", "AuthBiscuitLookupError", "AuthFailedLogin",
    "AuthEmailNotVerified", "AuthEmailAlreadyVerified", "AuthFailedRefresh", "AuthEmailExpired",
    "TooManyMembersPerOrganization",
}  # fmt: skip


def test_the_catalogue_lists_every_problem_of_hook0_once_with_words_for_people():
    documents = ApiClient(None).get("/errors/").json()
    names = [document["id"] for document in documents]
    assert len(names) == len(set(names))
    assert set(names) == HOOK0S | NOT_HERE  # Hook0's clients refuse a list with an id that they do not know
    assert len(names) == 46
    assert all(document["title"] and document["detail"] for document in documents)


def test_a_bug_is_answered_as_a_problem_without_its_traceback(monkeypatch):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("hook0.api.ErrorsView.get", fail)
    answer = ApiClient(None).get("/errors/")
    assert "secret" not in answer.content.decode()
    problem(answer, 500, "InternalServerError")


def test_what_is_no_problem_of_the_client_is_left_to_django():
    assert problems.as_problem(RuntimeError()) is None


@pytest.mark.parametrize("path", ["/instance", "/errors/"])
def test_the_public_pages_need_no_credentials(path):
    assert ApiClient(None).get(path).status_code == 200
