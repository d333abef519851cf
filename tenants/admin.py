from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.admin_pages import ReadOnlyAdmin, StaffAdmin
from tenants.api.applications import ApplicationPost, create_application, rename_application
from tenants.api.event_types import EventTypePost, deactivate, declare
from tenants.cells import badge
from tenants.checked_forms import CheckedAdmin, CheckedForm
from tenants.credentials import create_application_secret, create_service_token, revoke
from tenants.models import Application, ApplicationSecret, Credential, EventType, Membership, Organization, ServiceToken
from tenants.principal import Operator
from tenants.staff import sees_all
from tenants.verbs import Named, Shown, Verb

admin.site.unregister([User, Group])


class MembershipInline(TabularInline):
    model = Membership
    extra = 0
    verbose_name_plural = "organizations (those of the group “All organizations” see every one)"


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    """People. Administrators alone see this."""

    form, add_form, change_password_form = UserChangeForm, UserCreationForm, AdminPasswordChangeForm
    inlines = (MembershipInline,)
    list_display = ("username", "is_active", "is_staff", "is_superuser", "last_login")
    filter_horizontal = ()
    list_filter = ("is_active", "is_superuser", "groups")


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    filter_horizontal = ()


def _new_token(organization: Organization, fields: dict[str, Any], by: Operator) -> Shown:
    _, token = create_service_token(organization, name=fields["name"], by=by)
    return Shown("tenants/secret.html", {"secret": token, "told": "A service token for the whole organization."})


def _new_secret(application: Application, fields: dict[str, Any], by: Operator) -> Shown:
    _, token = create_application_secret(application, name=fields["name"], by=by)
    return Shown("tenants/secret.html", {"secret": token, "told": "A secret for this application's API."})


def _revoke(credential: Credential, fields: dict[str, Any], by: Operator) -> str:
    revoke(credential, by=by)
    return f"{credential} is revoked."


REVOKE = Verb(
    "revoke",
    "Revoke",
    _revoke,
    lambda row: f"Whoever uses {row} is refused from now on. This cannot be taken back.",
    offered=lambda row: row.deleted_at is None,
    icon="key_off",
    is_dangerous=True,
)


@admin.register(Organization)
class OrganizationAdmin(StaffAdmin):
    organization = "pk"
    by = ("name", "pk")
    list_display = ("name", "copy_id", "created")
    search_fields = ("name", "id")
    fields = ("name",)
    nothing = "You belong to no organization yet. An administrator can add you to one, under Users."
    verbs = (
        Verb(
            "new_token",
            "New service token",
            _new_token,
            lambda _: "It gives everything inside the organization, and is shown once.",
            form=Named,
            icon="key",
        ),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return sees_all(request.user) and super().has_add_permission(request)


class ApplicationForm(CheckedForm):
    body = ApplicationPost

    class Meta:
        model = Application
        fields = ("organization", "name")

    def as_body(self, given: dict[str, Any]) -> dict[str, Any]:
        organization = given.get("organization") or self.instance.organization
        return {"organization_id": str(organization.pk), "name": given["name"]}

    def carry_out(self, wanted: dict[str, Any]) -> Application:
        if self.instance._state.adding:
            return create_application(**wanted, by=self.by)
        return rename_application(self.instance.pk, wanted["name"], by=self.by)


class ApplicationAdmin(CheckedAdmin):
    """hook0.admin registers it, with the verbs that need the apps above."""

    form = ApplicationForm
    organization = "organization"
    by = ("name", "pk")
    list_display = ("name", "organization", "copy_id", "created")
    list_select_related = ("organization",)
    search_fields = ("name", "id")
    nothing = "An application is what sends events. Add one, then an event type and a subscription."
    verbs: Sequence[Verb] = (
        Verb(
            "new_secret",
            "New secret",
            _new_secret,
            lambda _: "It lets a program send events and manage the application. It is shown once.",
            form=Named,
            icon="key",
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(deleted_at=None)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("organization",) if obj else ()


class EventTypeForm(CheckedForm):
    body = EventTypePost

    class Meta:
        model = EventType
        fields = ("application", "service", "resource_type", "verb")

    def as_body(self, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "application_id": str(given["application"].pk)}

    def carry_out(self, wanted: dict[str, Any]) -> EventType:
        return declare(**wanted, by=self.by)


def _activate(row: EventType, fields: dict[str, Any], by: Operator) -> str:
    name = {"service": row.service, "resource_type": row.resource_type, "verb": row.verb}
    declare(application_id=row.application_id, **name, by=by)
    return f"{row} is active."


def _deactivate(row: EventType, fields: dict[str, Any], by: Operator) -> str:
    deactivate(row, by=by)
    return f"{row} is no longer active."


@admin.register(EventType)
class EventTypeAdmin(CheckedAdmin):
    form = EventTypeForm
    organization = "application__organization"
    by = ("name", "pk")
    list_display = ("name", "application", "state")
    list_select_related = ("application",)
    search_fields = ("name",)
    nothing = "Events are refused until their type is known. Add the first: service, resource and verb."
    verbs = (
        Verb(
            "deactivate",
            "Deactivate",
            _deactivate,
            lambda row: f"Events of the type {row} are refused from now on. What has come in is delivered.",
            offered=lambda row: row.deactivated_at is None,
            icon="block",
            is_dangerous=True,
        ),
        Verb(
            "activate",
            "Activate",
            _activate,
            lambda row: f"Events of the type {row} are taken again.",
            offered=lambda row: row.deactivated_at is not None,
        ),
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(application__deleted_at=None)

    @admin.display(description="state")
    def state(self, row: EventType) -> str:
        return badge("inactive", "off") if row.deactivated_at else badge("active", "good")


class CredentialAdmin(ReadOnlyAdmin):
    verbs = (REVOKE,)
    search_fields = ("name", "hint")
    nothing = "There are none. Make one on the page of what it is for."

    @admin.display(description="token")
    def token(self, row: Credential) -> str:
        return f"…{row.hint}"

    @admin.display(description="state")
    def state(self, row: Credential) -> str:
        return badge("revoked", "off") if row.deleted_at else badge("valid", "good")


@admin.register(ApplicationSecret)
class ApplicationSecretAdmin(CredentialAdmin):
    organization = "application__organization"
    by = ("-created_at", "-id")
    list_display = ("__str__", "application", "token", "state", "created")
    list_select_related = ("application",)
    fields = ("name", "application", "token", "state", "created")


@admin.register(ServiceToken)
class ServiceTokenAdmin(CredentialAdmin):
    organization = "organization"
    by = ("-created_at", "-id")
    list_display = ("__str__", "organization", "token", "state", "created")
    list_select_related = ("organization",)
    fields = ("name", "organization", "token", "state", "created")
