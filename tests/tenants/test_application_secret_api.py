import uuid

import pytest

from tenants.credentials import create_application_secret
from tenants.models import ApplicationSecret
from tests.clients import ApiClient, as_application, as_organization, problem
from tests.factories import make_application

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(application):
    return as_organization(application.organization)


def works(token, application):
    return ApiClient(token).get("/event_types/", application_id=application.id).status_code == 200


def test_a_secret_is_shown_when_it_is_made_and_never_again(api, application):
    answer = api.post("/application_secrets/", {"application_id": application.id, "name": "Backend"})
    made = answer.json()
    assert answer.status_code == 201
    assert set(made) == {"application_secret_id", "name", "token", "hint", "created_at", "deleted_at"}
    assert (made["name"], made["deleted_at"], made["hint"]) == ("Backend", None, made["token"][-4:])
    assert works(made["token"], application)
    (listed,) = api.get("/application_secrets/", application_id=application.id).json()
    assert listed == made | {"token": made["application_secret_id"]}
    assert not works(listed["token"], application)


@pytest.mark.parametrize("name", [{}, {"name": None}, {"name": ""}])
def test_a_secret_needs_no_name(api, application, name):
    made = api.post("/application_secrets/", {"application_id": application.id, **name})
    assert (made.status_code, made.json()["name"]) == (201, None)


@pytest.mark.parametrize("name", ["x" * 51, "a\nb", {"a": 1}])
def test_a_bad_name_is_refused(api, application, name):
    answer = api.post("/application_secrets/", {"application_id": application.id, "name": name})
    assert set(problem(answer, 422, "Validation")["validation"]) == {"name"}


def test_the_list_has_the_valid_ones_of_the_application_oldest_first(api, application):
    create_application_secret(make_application(organization=application.organization))
    first, second, third = (create_application_secret(application)[0] for _ in range(3))
    assert api.delete(f"/application_secrets/{second.id}", application_id=application.id).status_code == 204
    listed = api.get("/application_secrets/", application_id=application.id).json()
    assert [each["token"] for each in listed] == [str(first.id), str(third.id)]


@pytest.mark.parametrize("by", ["id", "token"])
def test_a_secret_is_addressed_by_its_id_or_by_itself(api, application, by):
    secret, token = create_application_secret(application, name="Old")
    address = {"id": secret.id, "token": token}[by]
    renamed = api.put(f"/application_secrets/{address}", {"application_id": application.id, "name": "New"})
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["token"]) == (200, "New", str(address))
    secret.refresh_from_db()
    assert (secret.name, works(token, application)) == ("New", True)
    assert api.delete(f"/application_secrets/{address}", application_id=application.id).status_code == 204
    assert not works(token, application)
    problem(api.delete(f"/application_secrets/{address}", application_id=application.id), 404, "NotFound")
    problem(api.put(f"/application_secrets/{address}", {"application_id": application.id}), 404, "NotFound")


def test_a_secret_may_make_and_revoke_secrets_of_its_application(application):
    api = as_application(application)
    made = api.post("/application_secrets/", {"application_id": application.id}).json()
    assert api.delete(f"/application_secrets/{made['token']}", application_id=application.id).status_code == 204


@pytest.mark.parametrize("credentials", [as_application, lambda application: as_organization(application.organization)])
def test_nobody_reaches_a_neighbours_secrets(application, credentials):
    api, neighbour = credentials(application), make_application()
    secret, token = create_application_secret(neighbour, name="Theirs")
    problem(api.get("/application_secrets/", application_id=neighbour.id), 403, "Forbidden")
    problem(api.post("/application_secrets/", {"application_id": neighbour.id}), 403, "Forbidden")
    for address in (secret.id, token):
        for asked, status, name in [(neighbour, 403, "Forbidden"), (application, 404, "NotFound")]:
            problem(api.put(f"/application_secrets/{address}", {"application_id": asked.id}), status, name)
            problem(api.delete(f"/application_secrets/{address}", application_id=asked.id), status, name)
    assert ApplicationSecret.objects.get(application=neighbour).name == "Theirs"
    assert works(token, neighbour)


def test_what_is_no_uuid_is_not_found(api, application):
    problem(api.delete("/application_secrets/nonsense", application_id=application.id), 404, "NotFound")
    problem(api.delete(f"/application_secrets/{uuid.uuid4()}", application_id=application.id), 404, "NotFound")
