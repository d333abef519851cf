import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Concat, Now

from tenants.ids import new_id


class Organization(models.Model):
    """Groups applications and owns service tokens."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=50)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "organization"
        permissions = [("see_all_organizations", "Can see all organizations, not only those of a membership")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A member of the staff belongs to an organization. Who has no right to see all sees nothing of others."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships", db_index=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")

    class Meta:
        db_table = "staff_membership"
        constraints = [models.UniqueConstraint(fields=["user", "organization"], name="member_once_per_organization")]

    def __str__(self) -> str:
        return f"{self.user} belongs to {self.organization}"


class Application(models.Model):
    """The tenant: its secrets, event types, subscriptions and events are nobody else's."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, models.PROTECT, related_name="applications", db_index=False)
    name = models.CharField(max_length=50)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        db_table = "application"
        indexes = [models.Index(fields=["organization", "created_at", "id"], name="application_by_age")]

    def __str__(self) -> str:
        return self.name


def describe(name: str, hint: str) -> str:
    """What a token is called, where it must not be shown."""
    return f"{name or 'unnamed'} (…{hint})"


class Credential(models.Model):
    """A token, kept as a hash; `hint` is its end, to tell one from another."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=50, blank=True, default="")
    token_hash = models.BinaryField(unique=True, editable=False)
    hint = models.CharField(max_length=4, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return describe(self.name, self.hint)


class ApplicationSecret(Credential):
    """Gives everything inside one application."""

    application = models.ForeignKey(Application, models.CASCADE, related_name="secrets", db_index=False)

    class Meta:
        db_table = "application_secret"
        indexes = [models.Index(fields=["application", "created_at", "id"], name="application_secret_by_age")]


class ServiceToken(Credential):
    """Gives everything inside one organization."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="service_tokens", db_index=False)

    class Meta:
        db_table = "service_token"
        indexes = [models.Index(fields=["organization", "created_at", "id"], name="service_token_by_age")]


class EventType(models.Model):
    """What an application may send: `service.resource_type.verb`."""

    id = models.BigAutoField(primary_key=True)
    application = models.ForeignKey(Application, models.CASCADE, related_name="event_types")
    service = models.CharField(max_length=50)
    resource_type = models.CharField(max_length=50)
    verb = models.CharField(max_length=50)
    name = models.GeneratedField(  # the one spelling that events and subscriptions name
        expression=Concat(F("service"), models.Value("."), F("resource_type"), models.Value("."), F("verb")),
        output_field=models.CharField(max_length=152),
        db_persist=True,
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    deactivated_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "event_type"
        constraints = [
            models.UniqueConstraint(fields=["application", "name"], name="event_type_once_per_application"),
            models.CheckConstraint(
                condition=~Q(service="") & ~Q(resource_type="") & ~Q(verb=""),
                name="event_type_has_three_parts",
            ),
        ]

    def __str__(self) -> str:
        return str(self.name)
