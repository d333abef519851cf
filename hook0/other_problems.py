"""Problems of Hook0 that have no place here: its clients know them, so the catalogue names them.

People, passwords and invitations are the admin's here; and what Hook0 tells apart in its tokens, it need not.
"""

from collections.abc import Iterator
from typing import Any

from tenants.problems import describe

_DETAIL = "Hook0's clients know this problem. This installation never answers with it."
_TITLES = {
    400: {
        "ApplicationNameMissing": "An application needs a name",
        "InvalidRole": "Unknown role",
        "OrganizationNameMissing": "An organization needs a name",
        "PasswordNotDiverseEnough": "The password has too few kinds of characters",
        "PasswordSimilarToEmail": "The password is too much like the e-mail address",
        "PasswordSimilarToName": "The password is too much like the name",
        "PasswordTooCommon": "The password is too common",
        "PasswordTooLong": "The password is too long",
        "PasswordTooShort": "The password is too short",
    },
    401: {
        "AuthEmailExpired": "The link of the e-mail has expired",
        "AuthEmailNotVerified": "The e-mail address is not verified",
        "AuthFailedLogin": "Wrong e-mail address or password",
        "AuthFailedRefresh": "The session cannot be refreshed",
    },
    403: {"AuthInvalidApplicationSecret": "Unknown application secret"},
    404: {"InvitedUserDoesNotExist": "Nobody has an account with this e-mail address"},
    409: {
        "AuthEmailAlreadyVerified": "The e-mail address is verified already",
        "EventTypeAlreadyExist": "There is such an event type",
        "InvitedUserAlreadyInOrganization": "They are in the organization already",
        "OrganizationIsNotEmpty": "The organization has applications",
        "UserAlreadyExist": "There is an account with this e-mail address",
    },
    410: {"RegistrationDisabled": "Nobody can register here"},
    429: {"TooManyMembersPerOrganization": "The organization has as many members as its quota allows"},
    500: {
        "AuthApplicationSecretLookupError": "The application secret could not be looked up",
        "AuthBiscuitLookupError": "The token could not be looked up",
    },
}


def documents() -> Iterator[dict[str, Any]]:
    for status, titles in _TITLES.items():
        for name, title in titles.items():
            yield describe(name, status, title=title, detail=_DETAIL)
