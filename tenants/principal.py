"""Who is calling, and what that gives."""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True)
class Principal:
    """The owner of a token: one application, or with `application_id` None a whole organization."""

    organization_id: uuid.UUID
    application_id: uuid.UUID | None
    name: str  # the token's, and how it ends

    is_authenticated = True  # what DRF asks of a user


@dataclass(frozen=True)
class Operator:
    """Somebody who acts: a person of the admin, or the owner of a token."""

    name: str
    reason: str = ""
