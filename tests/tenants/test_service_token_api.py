import pytest

from tenants.credentials import create_service_token
from tenants.models import ServiceToken
from tests.clients import ApiClient, as_application, problem
from tests.factories import make_application

pytestmark = pytest.mark.django_db


@pytest.fixture
def organization(application):
    return application.organization


@pytest.fixture
def mine(organization):
    """The token that the tests call with, and its text."""
    return create_service_token(organization, name="Mine")


@pytest.fixture
def api(mine):
    return ApiClient(mine[1])


def works(token):
    return ApiClient(token).get("/organizations/").status_code == 200


def test_a_token_is_shown_when_it_is_made_and_never_again(api, organization):
    answer = api.post("/service_token/", {"organization_id": organization.id, "name": "CI"})
    made = answer.json()
    assert answer.status_code == 201
    assert set(made) == {"token_id", "name", "biscuit", "created_at"}
    assert works(made["biscuit"])
    shown = api.get(f"/service_token/{made['token_id']}", organization_id=organization.id).json()
    assert shown == made | {"biscuit": f"hook0_***{made['biscuit'][-4:]}"}


@pytest.mark.parametrize("name", ["x" * 51, None, "a\nb"])
def test_a_bad_name_is_refused(api, organization, name):
    answer = api.post("/service_token/", {"organization_id": organization.id, "name": name})
    assert set(problem(answer, 422, "Validation")["validation"]) == {"name"}


def test_the_list_has_the_valid_ones_of_the_organization_oldest_first(api, mine, organization):
    create_service_token(make_application().organization)
    gone, last = (create_service_token(organization)[0] for _ in range(2))
    assert api.delete(f"/service_token/{gone.id}", organization_id=organization.id).status_code == 204
    for query in ({"organization_id": organization.id}, {}):
        listed = api.get("/service_token/", **query).json()
        assert [each["token_id"] for each in listed] == [str(mine[0].id), str(last.id)]
    assert mine[1] not in str(listed)


def test_a_token_gets_another_name_and_goes_on_working(api, organization):
    service_token, token = create_service_token(organization, name="Old")
    answer = api.put(f"/service_token/{service_token.id}", {"organization_id": organization.id, "name": "New"})
    assert (answer.status_code, answer.json()["name"]) == (200, "New")
    service_token.refresh_from_db()
    assert (service_token.name, works(token)) == ("New", True)


def test_a_revoked_token_is_void_and_not_found(api, organization):
    service_token, token = create_service_token(organization)
    address = f"/service_token/{service_token.id}"
    assert api.delete(address).status_code == 204
    problem(ApiClient(token).get("/organizations/"), 403, "AuthInvalidBiscuit")
    problem(api.get(address), 404, "NotFound")
    problem(api.put(address, {"organization_id": organization.id, "name": "Back"}), 404, "NotFound")
    problem(api.delete(address), 404, "NotFound")


def test_an_application_secret_may_do_none_of_this(application, organization, mine):
    api, address = as_application(application), f"/service_token/{mine[0].id}"
    body = {"organization_id": organization.id, "name": "Mine now"}
    for query in ({"organization_id": organization.id}, {}):
        problem(api.get("/service_token/", **query), 403, "Forbidden")
        problem(api.get(address, **query), 403, "Forbidden")
        problem(api.delete(address, **query), 403, "Forbidden")
    problem(api.post("/service_token/", body), 403, "Forbidden")
    problem(api.put(address, body), 403, "Forbidden")
    assert list(ServiceToken.objects.values_list("name", "deleted_at")) == [("Mine", None)]


def test_nobody_reaches_a_neighbours_tokens(api, organization):
    neighbour = make_application().organization
    theirs, token = create_service_token(neighbour, name="Theirs")
    address = f"/service_token/{theirs.id}"
    problem(api.get("/service_token/", organization_id=neighbour.id), 403, "Forbidden")
    problem(api.post("/service_token/", {"organization_id": neighbour.id, "name": "x"}), 403, "Forbidden")
    for asked, status, name in [(neighbour, 403, "Forbidden"), (organization, 404, "NotFound")]:
        problem(api.get(address, organization_id=asked.id), status, name)
        problem(api.put(address, {"organization_id": asked.id, "name": "x"}), status, name)
        problem(api.delete(address, organization_id=asked.id), status, name)
    theirs.refresh_from_db()
    assert (theirs.name, works(token)) == ("Theirs", True)
