"""Members of the staff: what they see, and what they may do.

Django's groups say what somebody may do; memberships say of which organizations.
"""

import uuid
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission, User
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from tenants.models import Application, Membership

Row = TypeVar("Row", bound=Model)

SEES_ALL = "tenants.see_all_organizations"
OPERATORS, VIEWERS, EVERYWHERE = "Operators", "Viewers", "All organizations"
_OURS = Q(content_type__app_label__in=["tenants", "subscriptions", "delivery", "events", "monitoring"])
_OF_ADMINISTRATORS = Q(content_type__model="membership") | Q(codename="see_all_organizations")


def sees_all(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether somebody sees every organization, and what belongs to none."""
    return isinstance(user, User) and user.has_perm(SEES_ALL)


def may_see(user: AbstractBaseUser | AnonymousUser, model: type[Model]) -> bool:
    """Whether somebody may look at such rows, wherever there are some that are theirs."""
    return isinstance(user, User) and user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


def visible_to(user: AbstractBaseUser | AnonymousUser, rows: QuerySet[Row], organization: str) -> QuerySet[Row]:
    """What somebody sees of these; `organization` is the way from a row to its organization."""
    if sees_all(user):
        return rows
    return rows.filter(**{f"{organization}__in": Membership.objects.filter(user=user.pk).values("organization")})


def applications_of(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Application]:
    """What somebody can choose from, as a list."""
    return visible_to(user, Application.objects.filter(deleted_at=None), "organization").order_by("name", "id")


def choose_application(request: HttpRequest) -> uuid.UUID | None:
    """Whose rows a list shows: what its address names, else what was looked at last, else the first."""
    mine = applications_of(request.user)
    if asked := read_uuid(request.GET.get("application")):
        chosen = mine.filter(id=asked).values_list("id", flat=True).first()
        if chosen and request.session.get("application") != str(chosen):
            request.session["application"] = str(chosen)
        return chosen
    last = read_uuid(request.session.get("application"))
    return (last and mine.filter(id=last).values_list("id", flat=True).first()) or mine.values_list(
        "id", flat=True
    ).first()


def read_uuid(text: str | None) -> uuid.UUID | None:
    """A UUID, if this is one."""
    try:
        return uuid.UUID(text or "")
    except ValueError:
        return None


def make_groups() -> None:
    """The groups an installation begins with. What an administrator has added to them stays."""
    ours = Permission.objects.filter(_OURS).exclude(_OF_ADMINISTRATORS)
    for name, permissions in {
        OPERATORS: ours,
        VIEWERS: ours.filter(codename__startswith="view_"),
        EVERYWHERE: Permission.objects.filter(codename="see_all_organizations"),
    }.items():
        Group.objects.get_or_create(name=name)[0].permissions.add(*permissions)
