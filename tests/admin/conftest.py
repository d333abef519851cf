"""A staff member's browser without a screen, and an installation that has something to show."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from tenants.models import Application, Membership
from tenants.staff import EVERYWHERE, OPERATORS, VIEWERS, make_groups
from tests.admin.scene import make_scene


def make_person(name: str, *groups: str, of: Application | None = None) -> Client:
    """A member of the staff who is logged in."""
    make_groups()
    user = User.objects.create_user(name, is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    if of:
        Membership.objects.create(user=user, organization=of.organization)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(transactional_db) -> Client:
    return make_person("olga", OPERATORS, EVERYWHERE)


@pytest.fixture
def viewer(transactional_db) -> Client:
    return make_person("vera", VIEWERS, EVERYWHERE)


@pytest.fixture
def scene(pump, receiver, transactional_db) -> Application:
    return make_scene(pump, receiver)
