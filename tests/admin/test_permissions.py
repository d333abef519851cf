"""A viewer changes nothing; who belongs to one organization sees nothing of another."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.db.models.functions import Now
from django.urls import reverse

from delivery.models import Lane, OperatorAction
from hook0.desk.home import look
from tenants.models import Membership, Organization
from tenants.staff import OPERATORS, VIEWERS
from tests.admin.conftest import make_person
from tests.admin.scene import make_scene
from tests.admin.walk import details, lists, ours, rows, verbs
from tests.hook0.test_tenancy import everything

FIELDS = {
    "reason": "because", "name": "New name", "number": "3", "overlap_seconds": "0", "over_seconds": "0",
    "since": "24", "status": "all", "payload": "{}",
}  # fmt: skip


def actions(found):
    """Each list with what can be done to a selection, of these rows."""
    for page in ours():
        chosen = [str(row.pk) for of, row in found if of is page]
        for name in page.actions:
            address = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist")
            yield f"{page.opts.label}: {name}", address, {"action": name, "_selected_action": chosen, "index": "0"}


def test_a_viewer_can_change_nothing(viewer, scene):
    before = everything()
    for name, address in verbs().items():
        assert viewer.get(address).status_code == 403, name
        assert viewer.post(address, FIELDS).status_code == 403, name
    for name, address, form in actions(list(rows())):
        assert viewer.post(address, form).status_code in {200, 302, 403}, name
    for name, address in details().items():
        page = viewer.get(address, follow=True)
        assert page.status_code == 200, name
        assert "/do/" not in page.content.decode(), name
        assert viewer.post(address, FIELDS).status_code in {302, 403}, name
        assert viewer.post(address.replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403, name
    for name, address in lists().items():
        assert viewer.get(f"{address}add/").status_code == 403, name
        assert viewer.post(f"{address}add/", FIELDS).status_code == 403, name
    assert everything() == before


def test_one_who_sees_all_can_say_every_verb_that_is_offered(operator, scene):
    """The walk above would pass if nothing worked for anybody."""
    refused = {name for name, address in verbs().items() if operator.get(address).status_code != 200}
    assert refused == set()
    lane = Lane.objects.get()
    address = reverse("admin:delivery_lane_verb", args=[lane.pk, "resume"])
    assert operator.post(address, {"reason": "it is mended"}).status_code == 302
    done = OperatorAction.objects.latest("id")
    assert (done.actor, done.action, done.reason) == ("olga", "resume", "it is mended")


@pytest.fixture
def stranger(transactional_db, pump, receiver):
    """Someone of another organization, in which everything has happened, too."""
    theirs = make_scene(pump, receiver, name="Theirs")
    return make_person("stan", OPERATORS, of=theirs)


def test_staff_of_one_organization_sees_and_changes_nothing_of_another(stranger, pump, receiver):
    known = {page: set(page.model._default_manager.values_list("pk", flat=True)) for page in ours()}
    mine = make_scene(pump, receiver, name="Secretive")
    Organization.objects.filter(pk=mine.organization_id).update(name="Secretive Inc")
    before = everything()
    ids = {str(mine.pk), str(mine.organization_id), *map(str, mine.subscriptions.values_list("pk", flat=True))}
    seen = re.compile("|".join(["Secretive", *ids]))
    for name, address in {"home": reverse("admin:index"), **lists()}.items():
        for query in ("", f"?application={mine.pk}", "?q=Secretive", f"?q={mine.pk}"):
            page = stranger.get(address + query, follow=True).content.decode()
            shown = page.replace(query.removeprefix("?").partition("=")[2], "")
            assert not seen.search(shown), (name, query)
    hidden = [(page, row) for page in ours() for row in page.model._default_manager.all() if row.pk not in known[page]]
    assert len({page for page, _ in hidden}) >= 14
    for page, row in hidden:
        for address in (page.address(row), page.address(row).replace("/change/", "/history/")):
            answer = stranger.get(address, follow=True)
            assert answer.redirect_chain or answer.status_code in {403, 404}, page
            assert not seen.search(answer.content.decode().replace(str(row.pk), "")), page
        for verb in page.verbs:
            address = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_verb", args=[row.pk, verb.name])
            assert stranger.post(address, FIELDS).status_code == 404, (page, verb)
    for _, address, form in actions(hidden):
        stranger.post(address, form)
    for page in ours():
        add = stranger.get(reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_add"))
        assert not seen.search(add.content.decode()), page
    for term in ("Secretive", *ids):
        found = stranger.get(reverse("admin:search"), {"s": term, "extended": "1"})
        assert not seen.search(found.content.decode()), term
    assert everything() == before


def test_who_belongs_to_nothing_is_told_what_to_do(transactional_db, scene):
    nobody = make_person("nora", VIEWERS)
    home = nobody.get(reverse("admin:index")).content.decode()
    assert "ask an administrator" in home
    for address in lists().values():
        assert str(scene.pk) not in nobody.get(address, follow=True).content.decode()


def test_who_may_look_at_nothing_sees_nothing_at_home(transactional_db, scene):
    """A membership says of which organizations, and a group says what: it takes both."""
    Lane.objects.update(since=Now())
    member, viewer = make_person("nina", of=scene), make_person("vito", VIEWERS, of=scene)
    home, shown = (client.get(reverse("admin:index")).content.decode() for client in (member, viewer))
    for known in ("Shop: blocks", "to see it"):  # a lane and a subscription; what was done
        assert known in shown
        assert known not in home
    sections = {"subscriptions.view_subscription": "failing", "delivery.view_lane": "stuck"}
    sections |= {"delivery.view_operatoraction": "actions", "events.view_replay": "replays"}
    sections |= {"events.view_bulkload": "loads", "delivery.view_requestattempt": "backlog"}
    for permission, section in sections.items():
        user = User.objects.create_user(permission, is_staff=True)
        Membership.objects.create(user=user, organization=scene.organization)
        app, _, name = permission.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))
        seen = {each for each in sections.values() if getattr(look(user), each)}
        assert seen == {section}
