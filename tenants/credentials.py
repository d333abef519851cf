"""Tokens: made here, shown once, kept as hashes."""

import hashlib
import secrets
import uuid

from django.db import connection

from tenants.models import Application, ApplicationSecret, Organization, ServiceToken, describe
from tenants.principal import Principal

SERVICE_TOKEN_PREFIX = "hook0_"  # noqa: S105 - so that scanners of leaks can tell


def hash_token(token: str) -> bytes:
    """A plain hash is enough: tokens are random, so there is nothing to guess from it."""
    return hashlib.sha256(token.encode()).digest()


def create_application_secret(application: Application, *, name: str = "") -> tuple[ApplicationSecret, str]:
    """A new secret and its token, which cannot be read again."""
    token = str(uuid.uuid4())
    secret = ApplicationSecret.objects.create(
        application=application, name=name, token_hash=hash_token(token), hint=token[-4:]
    )
    return secret, token


def create_service_token(organization: Organization, *, name: str = "") -> tuple[ServiceToken, str]:
    """A new service token and its text, which cannot be read again."""
    token = SERVICE_TOKEN_PREFIX + secrets.token_urlsafe(32)
    service_token = ServiceToken.objects.create(
        organization=organization, name=name, token_hash=hash_token(token), hint=token[-4:]
    )
    return service_token, token


_WHO = """
SELECT application.organization_id, application.id, secret.name, secret.hint
  FROM application_secret secret JOIN application ON application.id = secret.application_id
 WHERE secret.token_hash = %(hash)s AND secret.deleted_at IS NULL AND application.deleted_at IS NULL
 UNION ALL
SELECT organization_id, NULL, name, hint FROM service_token WHERE token_hash = %(hash)s AND deleted_at IS NULL
"""


def find_principal(token: str) -> Principal | None:
    """Whose token this is; None when it is nobody's, or no longer."""
    with connection.cursor() as cursor:
        cursor.execute(_WHO, {"hash": hash_token(token)})
        row = cursor.fetchone()
    if row is None:
        return None
    organization_id, application_id, name, hint = row
    return Principal(organization_id, application_id, name=describe(name, hint))
