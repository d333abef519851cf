import pytest

from tests.clients import problem
from tests.factories import make_application

pytestmark = pytest.mark.django_db


def body(application, **overrides):
    return {"application_id": application.id, "service": "shop", "resource_type": "cart", "verb": "left", **overrides}


def test_an_event_type_is_its_three_parts_and_may_be_created_twice(api, application):
    expected = {
        "service_name": "shop",
        "resource_type_name": "cart",
        "verb_name": "left",
        "event_type_name": "shop.cart.left",
    }
    for _ in range(2):
        answer = api.post("/event_types/", body(application))
        assert (answer.status_code, answer.json()) == (201, expected)
    assert api.get("/event_types/shop.cart.left", application_id=application.id).json() == expected


def test_the_list_has_the_active_ones_by_name(api, application):
    api.post("/event_types/", body(application))
    names = [each["event_type_name"] for each in api.get("/event_types/", application_id=application.id).json()]
    assert names == ["billing.invoice.paid", "shop.cart.left"]
    assert api.delete("/event_types/shop.cart.left", application_id=application.id).status_code == 204
    names = [each["event_type_name"] for each in api.get("/event_types/", application_id=application.id).json()]
    assert names == ["billing.invoice.paid"]
    problem(api.get("/event_types/shop.cart.left", application_id=application.id), 404, "NotFound")
    assert api.post("/event_types/", body(application)).status_code == 201
    assert api.get("/event_types/shop.cart.left", application_id=application.id).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"), [("service", ""), ("verb", "x" * 51), ("resource_type", "a\tb"), ("verb", None)]
)
def test_each_bad_part_is_named(api, application, field, value):
    document = problem(api.post("/event_types/", body(application, **{field: value})), 422, "Validation")
    assert set(document["validation"]) == {field}


def test_the_application_must_be_named_and_ones_own(api):
    document = problem(api.get("/event_types/"), 422, "Validation")
    assert set(document["validation"]) == {"application_id"}
    problem(api.get("/event_types/", application_id=make_application().id), 403, "Forbidden")


def test_what_counts_is_the_name_that_the_parts_make(api, application):
    api.post("/event_types/", body(application, service="q.w", resource_type="e", verb="r"))
    answer = api.post("/event_types/", body(application, service="q", resource_type="w.e", verb="r"))
    assert (answer.status_code, answer.json()["event_type_name"]) == (201, "q.w.e.r")
    assert api.get("/event_types/q.w.e.r", application_id=application.id).status_code == 200


@pytest.mark.parametrize(("name", "status"), [("a%2Fb.b.c", 200), ("a%00b", 404)])
def test_names_with_odd_characters_can_be_asked_for(api, application, name, status):
    api.post("/event_types/", body(application, service="a/b", resource_type="b", verb="c"))
    assert api.get(f"/event_types/{name}", application_id=application.id).status_code == status
