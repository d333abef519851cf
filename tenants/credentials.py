"""Tokens: made here, shown once, kept as hashes."""

import hashlib
import secrets
import uuid

from django.db import connection, transaction
from django.db.models.functions import Now

from tenants.audit import note
from tenants.memory import Memory
from tenants.models import Application, ApplicationSecret, Credential, Organization, ServiceToken, describe
from tenants.principal import Operator, Principal

SERVICE_TOKEN_PREFIX = "hook0_"  # noqa: S105 - so that scanners of leaks can tell


def hash_token(token: str) -> bytes:
    """A plain hash is enough: tokens are random, so there is nothing to guess from it."""
    return hashlib.sha256(token.encode()).digest()


@transaction.atomic
def create_application_secret(
    application: Application, *, name: str = "", by: Operator | None = None
) -> tuple[ApplicationSecret, str]:
    """A new secret and its token, which cannot be read again."""
    token = str(uuid.uuid4())
    secret = ApplicationSecret.objects.create(
        application=application, name=name, token_hash=hash_token(token), hint=token[-4:]
    )
    _note(by, "create_secret", secret)
    return secret, token


@transaction.atomic
def create_service_token(
    organization: Organization, *, name: str = "", by: Operator | None = None
) -> tuple[ServiceToken, str]:
    """A new service token and its text, which cannot be read again."""
    token = SERVICE_TOKEN_PREFIX + secrets.token_urlsafe(32)
    service_token = ServiceToken.objects.create(
        organization=organization, name=name, token_hash=hash_token(token), hint=token[-4:]
    )
    _note(by, "create_service_token", service_token)
    return service_token, token


@transaction.atomic
def revoke(credential: Credential, *, by: Operator | None = None) -> None:
    """Who uses it is refused from now on; see `REMEMBERED_SECONDS`."""
    type(credential)._default_manager.filter(pk=credential.pk).update(deleted_at=Now())
    _note(by, "revoke", credential)


def _note(by: Operator | None, action: str, credential: Credential) -> None:
    if isinstance(credential, ApplicationSecret):
        note(by, action, application_id=credential.application_id, secret=str(credential))
    elif isinstance(credential, ServiceToken):
        note(by, action, organization_id=str(credential.organization_id), service_token=str(credential))


_WHO = """
SELECT application.organization_id, application.id, secret.name, secret.hint
  FROM application_secret secret JOIN application ON application.id = secret.application_id
 WHERE secret.token_hash = %(hash)s AND secret.deleted_at IS NULL AND application.deleted_at IS NULL
 UNION ALL
SELECT organization_id, NULL, name, hint FROM service_token WHERE token_hash = %(hash)s AND deleted_at IS NULL
"""

# A token that is revoked, or an application that is deleted, is refused everywhere so many seconds later.
REMEMBERED_SECONDS = 2.0
principals: Memory[bytes, Principal | None] = Memory(seconds=REMEMBERED_SECONDS, most=10_000)
reach: Memory[tuple[uuid.UUID, uuid.UUID], bool] = Memory(seconds=REMEMBERED_SECONDS, most=10_000)


def principal_with(token: str) -> Principal | None:
    """Whose token this is; None when it is nobody's, or no longer. Remembered for a moment."""
    token_hash = hash_token(token)
    return principals.get(token_hash, lambda: _find_principal(token_hash))


def reaches(organization_id: uuid.UUID, application_id: uuid.UUID) -> bool:
    """Whether an organization has this application. Remembered for a moment."""
    mine = Application.objects.filter(id=application_id, organization_id=organization_id, deleted_at=None)
    return reach.get((organization_id, application_id), mine.exists)


def _find_principal(token_hash: bytes) -> Principal | None:
    with connection.cursor() as cursor:
        cursor.execute(_WHO, {"hash": token_hash})
        row = cursor.fetchone()
    if row is None:
        return None
    organization_id, application_id, name, hint = row
    return Principal(organization_id, application_id, name=describe(name, hint))
