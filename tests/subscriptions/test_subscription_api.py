"""`/subscriptions/`: what may be asked for, and what is answered."""

import ipaddress
import uuid

import pytest
from django.db.models.functions import Now

from delivery.models import OperatorAction, RequestAttempt
from subscriptions.models import OrganizationWorker, Subscription, SubscriptionState, Worker
from tenants.models import Application, ApplicationSecret
from tenants.own_event_types import ANNOUNCEMENTS
from tests.clients import as_application, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, publish

pytestmark = pytest.mark.django_db


def target(**overrides):
    return {"type": "http", "method": "POST", "url": "https://example.com/hook", "headers": {}, **overrides}


def body(application, **overrides):
    return {
        "application_id": application.id,
        "is_enabled": True,
        "event_types": [EVENT_TYPE],
        "labels": {"shop": "1"},
        "target": target(),
        **overrides,
    }


def test_a_subscription_is_created_with_its_secret_and_the_queues_row(api, application):
    answer = api.post("/subscriptions/", body(application, description="Mine", metadata={"a": "b"}))
    assert answer.status_code == 201
    created = answer.json()
    assert uuid.UUID(created["secret"])
    assert created["warnings"] == []
    assert {name: created[name] for name in ("description", "metadata", "labels", "label_key", "label_value")} == {
        "description": "Mine",
        "metadata": {"a": "b"},
        "labels": {"shop": "1"},
        "label_key": "shop",
        "label_value": "1",
    }
    assert (created["fifo_mode"], created["timeout_ms"], created["max_in_flight"]) == (False, 15_000, 32)
    assert SubscriptionState.objects.filter(subscription_id=created["subscription_id"]).exists()


def test_it_can_be_read_again_alone_and_in_the_list(api, application):
    created = [api.post("/subscriptions/", body(application)).json() for _ in range(2)]
    for each in created:
        each.pop("warnings")
    assert api.get(f"/subscriptions/{created[0]['subscription_id']}").json() == created[0]
    assert api.get("/subscriptions/", application_id=application.id).json() == created


def test_fifo_is_accepted_with_a_warning_of_what_it_costs(api, application):
    wanted = {"fifo_mode": True, "fifo_key": "label:customer", "fifo_on_exhausted": "block"}
    created = api.post("/subscriptions/", body(application, **wanted)).json()
    assert {name: created[name] for name in wanted} == wanted
    assert [warning["code"] for warning in created["warnings"]] == ["fifo_throughput", "fifo_blocks"]


def test_a_rate_limit_and_a_pause_are_kept(api, application):
    wanted = {"rate_limit": {"requests": 10, "per_seconds": 1}, "is_paused": True}
    created = api.post("/subscriptions/", body(application, **wanted)).json()
    assert {name: created[name] for name in wanted} == wanted


def test_the_old_pair_of_label_key_and_value_still_works_and_labels_win(api, application):
    pair = {"label_key": "a", "label_value": "b"}
    assert api.post("/subscriptions/", body(application, labels=None, **pair)).json()["labels"] == {"a": "b"}
    assert api.post("/subscriptions/", body(application, **pair)).json()["labels"] == {"shop": "1"}
    problem(api.post("/subscriptions/", body(application, labels=None)), 400, "LabelsAmbiguity")
    problem(api.post("/subscriptions/", body(application, labels=None, label_key="a")), 400, "LabelsAmbiguity")


def test_exact_event_types_must_exist_and_wildcards_need_not(api, application):
    problem(api.post("/subscriptions/", body(application, event_types=["a.b.c"])), 400, "EventTypeDoesNotExist")
    assert api.post("/subscriptions/", body(application, event_types=["a.*"])).status_code == 201


def test_events_of_hook0s_own_can_be_subscribed_to_before_there_is_one(api, application):
    assert api.post("/subscriptions/", body(application, event_types=list(ANNOUNCEMENTS))).status_code == 201
    refused = api.post("/subscriptions/", body(application, event_types=[*ANNOUNCEMENTS, "hook0.delivery.lost"]))
    assert problem(refused, 400, "EventTypeDoesNotExist")["detail"].endswith("event type hook0.delivery.lost.")


@pytest.mark.parametrize(
    "policy",
    [
        {"max_fast_retries": 3},
        {"schedule_ms": [1000, 5000]},
        {"schedule_ms": []},
        {"max_fast_retries": 1, "max_slow_retries": 0, "fast_min_ms": 1, "fast_max_ms": 2, "slow_ms": 3},
    ],
)
def test_a_retry_policy_of_ones_own_is_kept_as_it_is(api, application, policy):
    assert api.post("/subscriptions/", body(application, retry_policy=policy)).json()["retry_policy"] == policy


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"is_enabled": None}, "is_enabled"),
        ({"event_types": []}, "event_types"),
        ({"event_types": ["x" * 201]}, "event_types"),
        ({"event_types": ["a.b.c"] * 101}, "event_types"),
        ({"description": "x" * 101}, "description"),
        ({"labels": {str(n): "x" for n in range(11)}}, "labels"),
        ({"metadata": {"": "x"}}, "metadata"),
        ({"target": None}, "target"),
        ({"target": target(type="ftp")}, "target"),
        ({"target": target(method="post")}, "target"),
        ({"target": target(url="ftp://example.com")}, "target"),
        ({"target": target(url="https:///path")}, "target"),
        ({"target": target(url="https://example.com:port/")}, "target"),
        ({"target": target(url="https://example.com/" + "x" * 1000)}, "target"),
        ({"target": target(url="https://example.com/ x")}, "target"),
        ({"target": target(url="http://169.254.169.254/latest/meta-data")}, "target"),
        ({"target": target(url="http://0xa9fea9fe/")}, "target"),
        ({"target": target(url="https://user@10.0.0.1:8443/x")}, "target"),
        ({"target": target(url="http://[::ffff:10.0.0.1]/")}, "target"),
        ({"target": target(headers=None)}, "target"),
        ({"target": target(headers={f"x-{n}": "x" for n in range(11)})}, "target"),
        ({"target": target(headers={"x": "x" * 501})}, "target"),
        ({"target": target(headers={"x y": "1"})}, "target"),
        ({"target": target(headers={"x": "1\r\nx-evil: 2"})}, "target"),
        ({"target": target(headers={"Host": "evil"})}, "target"),
        ({"target": target(headers={"Content-Length": "1"})}, "target"),
        ({"target": target(headers={"X-Hook0-Signature": "forged"})}, "target"),
        ({"target": target(headers={"webhook-id": "forged"})}, "target"),
        ({"fifo_key": "customer"}, "fifo_key"),
        ({"fifo_key": "label:"}, "fifo_key"),
        ({"fifo_on_exhausted": "shrug"}, "fifo_on_exhausted"),
        ({"timeout_ms": 999}, "timeout_ms"),
        ({"timeout_ms": 60_001}, "timeout_ms"),
        ({"max_in_flight": 0}, "max_in_flight"),
        ({"retry_policy": {"max_fast_retries": -1}}, "retry_policy"),
        ({"rate_limit": {"requests": 1}}, "rate_limit"),
        ({"rate_limit": {"requests": 0, "per_seconds": 1}}, "rate_limit"),
        ({"is_paused": "perhaps"}, "is_paused"),
        ({"retry_policy": {"schedule_ms": [1], "slow_ms": 1}}, "retry_policy"),
        ({"retry_policy": {"schedule_ms": [-1]}}, "retry_policy"),
    ],
)
def test_each_bad_field_is_named(api, application, overrides, field):
    document = problem(api.post("/subscriptions/", body(application, **overrides)), 422, "Validation")
    assert set(document["validation"]) == {field}
    assert not Subscription.objects.exists()


def test_others_do_not_reach_it_nor_learn_that_it_exists(api, application):
    created = api.post("/subscriptions/", body(application)).json()
    other = make_application()
    for stranger in (as_application(other), as_organization(other.organization)):
        for subscription_id in (created["subscription_id"], uuid.uuid4()):
            address = f"/subscriptions/{subscription_id}"
            problem(stranger.get(address), 404, "NotFound")
            problem(stranger.put(address, body(application)), 403, "Forbidden")
            problem(stranger.put(address, body(other)), 404, "NotFound")
            problem(stranger.delete(address, application_id=application.id), 403, "Forbidden")
            problem(stranger.delete(address, application_id=other.id), 404, "NotFound")
        problem(stranger.get("/subscriptions/", application_id=application.id), 403, "Forbidden")
        problem(stranger.post("/subscriptions/", body(application)), 403, "Forbidden")
    assert api.get(f"/subscriptions/{created['subscription_id']}").status_code == 200


def test_a_service_token_reaches_the_subscriptions_of_its_organization(api, application):
    created = api.post("/subscriptions/", body(application)).json()
    address = f"/subscriptions/{created['subscription_id']}"
    organization = as_organization(application.organization)
    assert organization.get(address).json()["subscription_id"] == created["subscription_id"]
    Application.objects.filter(id=application.id).update(deleted_at=Now())
    problem(organization.get(address), 404, "NotFound")


def test_an_update_replaces_everything_and_what_is_left_out_gets_its_default(api, application):
    wanted = {
        "description": "Mine", "metadata": {"a": "b"}, "fifo_mode": True, "fifo_key": "event_type", "timeout_ms": 5_000,
        "fifo_on_exhausted": "block", "retry_policy": {"schedule_ms": [1]}, "max_in_flight": 3, "is_paused": True,
        "rate_limit": {"requests": 1, "per_seconds": 1}, "disable_after_hours": 9,
    }  # fmt: skip
    created = api.post("/subscriptions/", body(application, **wanted)).json()
    plain = api.post("/subscriptions/", body(application)).json()
    address = f"/subscriptions/{created['subscription_id']}"
    answer = api.put(address, body(application, target=target(url="https://example.com/new"), labels={"b": "2"}))
    assert answer.status_code == 200
    own = {"subscription_id", "secret", "created_at", "updated_at", "target", "labels", "label_key", "label_value"}
    updated = answer.json()
    assert {name: value for name, value in updated.items() if name not in own} == {
        name: value for name, value in plain.items() if name not in own
    }
    assert (updated["target"]["url"], updated["labels"]) == ("https://example.com/new", {"b": "2"})
    assert (updated["secret"], updated["created_at"]) == (created["secret"], created["created_at"])
    assert updated["updated_at"] > created["updated_at"]
    assert updated.pop("warnings") == []
    assert api.get(address).json() == updated


def test_what_waits_follows_an_update_which_warns_of_what_it_does_to_it(api, application):
    created = api.post("/subscriptions/", body(application, fifo_mode=True)).json()
    publish(application, 3)
    answer = api.put(f"/subscriptions/{created['subscription_id']}", body(application, dedicated_workers=None))
    (warning,) = answer.json()["warnings"]
    assert (warning["code"], warning["message"][:2]) == ("fifo_off_with_pending", "3 ")
    assert RequestAttempt.objects.filter(lane=None).count() == 3
    action = OperatorAction.objects.latest("id")
    secret = ApplicationSecret.objects.get()
    assert (action.action, action.actor) == ("edit_subscription", f"unnamed (…{secret.hint})")


def test_an_update_is_checked_as_a_new_one_is(api, application):
    created = api.post("/subscriptions/", body(application)).json()
    address = f"/subscriptions/{created['subscription_id']}"
    problem(api.put(address, body(application, timeout_ms=1)), 422, "Validation")
    problem(api.put(address, body(application, event_types=["a.b.c"])), 400, "EventTypeDoesNotExist")
    problem(api.put(address, body(application, labels=None)), 400, "LabelsAmbiguity")
    problem(api.put(address, body(application, dedicated_workers=["nobodys"])), 400, "UnauthorizedWorkers")
    created.pop("warnings")
    assert api.get(address).json() == created


def test_a_deleted_one_is_gone_with_what_waited_for_it(api, application):
    created = api.post("/subscriptions/", body(application)).json()
    publish(application, 2)
    address = f"/subscriptions/{created['subscription_id']}"
    assert api.delete(address, application_id=application.id).status_code == 204
    assert not RequestAttempt.objects.exists()
    assert api.get("/subscriptions/", application_id=application.id).json() == []
    problem(api.get(address), 404, "NotFound")
    problem(api.put(address, body(application)), 404, "NotFound")
    problem(api.delete(address, application_id=application.id), 404, "NotFound")


def test_the_list_comes_in_pages_and_can_be_narrowed(api, application):
    for overrides in (
        {"is_enabled": False, "labels": {"shop": "1", "to": "a:b"}},
        {"fifo_mode": True, "event_types": ["billing.*"]},
        {"event_types": ["crm.*"]},
    ):
        api.post("/subscriptions/", body(application, **overrides))

    def positions(**query):
        listed = api.get("/subscriptions/", application_id=application.id, **query).json()
        return [everything.index(each) for each in listed]

    everything = api.get("/subscriptions/", application_id=application.id).json()
    assert positions() == [0, 1, 2]
    assert (positions(is_enabled="true"), positions(is_enabled="false")) == ([1, 2], [0])
    assert (positions(fifo_mode="true"), positions(fifo_mode="false")) == ([1], [0, 2])
    assert (positions(event_type=EVENT_TYPE), positions(event_type="crm.person.left")) == ([0, 1], [2])
    assert (positions(label="to:a:b"), positions(label="shop:2")) == ([0], [])
    first = api.get("/subscriptions/", application_id=application.id, fifo_mode="false", limit=1)
    assert first.headers["Link"].endswith('>; rel="next"')
    bad = problem(api.get("/subscriptions/", application_id=application.id, label="x"), 422, "Validation")
    assert set(bad["validation"]) == {"label"}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"timeout_ms": 15_001}, "fifo_long_timeout"),
        ({"retry_policy": {"max_fast_retries": 6}}, "fifo_many_retries"),
        ({"retry_policy": {"max_slow_retries": 11}}, "fifo_many_retries"),
        ({"retry_policy": {"schedule_ms": [1] * 16}}, "fifo_many_retries"),
        ({"max_in_flight": 33}, "fifo_ignores_max_in_flight"),
    ],
)
def test_fifo_warns_of_what_costs_more_than_it_should_and_others_are_not_bothered(api, application, wanted, code):
    fifo = api.post("/subscriptions/", body(application, fifo_mode=True, **wanted)).json()
    assert [warning["code"] for warning in fifo["warnings"]] == ["fifo_throughput", code]
    assert api.post("/subscriptions/", body(application, **wanted)).json()["warnings"] == []


def test_what_is_recommended_is_not_warned_of(api, application):
    wanted = {"timeout_ms": 15_000, "retry_policy": {"schedule_ms": [1] * 15}, "max_in_flight": 32}
    fifo = api.post("/subscriptions/", body(application, fifo_mode=True, **wanted)).json()
    assert [warning["code"] for warning in fifo["warnings"]] == ["fifo_throughput"]


def test_dedicated_workers_are_public_or_the_organizations_own(api, application):
    Worker.objects.create(name="everybodys", is_public=True)
    own = Worker.objects.create(name="own")
    OrganizationWorker.objects.create(organization=application.organization, worker=own)
    answer = api.post("/subscriptions/", body(application, dedicated_workers=["own", "everybodys"]))
    assert answer.json()["dedicated_workers"] == ["everybodys", "own"]


def test_the_workers_of_others_are_refused_by_name(api, application):
    Worker.objects.create(name="theirs")
    answer = api.post("/subscriptions/", body(application, dedicated_workers=["theirs", "nobodys"]))
    assert "nobodys, theirs" in problem(answer, 400, "UnauthorizedWorkers")["detail"]


def test_fifo_with_several_dedicated_workers_is_refused(api, application):
    for name in ("a", "b"):
        Worker.objects.create(name=name, is_public=True)
    answer = api.post("/subscriptions/", body(application, fifo_mode=True, dedicated_workers=["a", "b"]))
    assert set(problem(answer, 422, "Validation")["validation"]) == {"dedicated_workers"}


def test_a_private_address_is_named_where_it_is_refused_and_taken_where_it_is_allowed(api, application, settings):
    private = body(application, target=target(url="http://127.0.0.1:9/hook"))
    settings.ALLOWED_TARGETS = []
    document = problem(api.post("/subscriptions/", private), 422, "Validation")
    (complaint,) = document["validation"]["target"]["url"]
    assert complaint["code"] == "forbidden_address"
    assert "127.0.0.1" in complaint["message"]
    settings.ALLOWED_TARGETS = [ipaddress.ip_network("127.0.0.0/8")]
    assert api.post("/subscriptions/", private).status_code == 201
