"""The admin is for everybody: axe finds nothing serious on its pages, light or dark, wide or narrow."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from hook0.receiver import Behaviour
from tests.browser.chromium import NARROW, WIDE, log_in
from tests.browser.stage import read, send, subscribe_blocking, wait_for_lane
from tests.flow.test_first_webhook import call

pytestmark = pytest.mark.flow

GRAVE = {"serious", "critical"}


ADDRESSES = (
    "", "subscriptions/subscription/", "subscriptions/subscription/add/", "delivery/lane/", "events/event/",
    "delivery/attemptlog/", "delivery/deadletter/", "events/undelivered/", "events/replay/", "events/bulkload/",
    "delivery/operatoraction/", "tenants/organization/", "tenants/application/", "tenants/eventtype/",
    "tenants/applicationsecret/", "subscriptions/worker/", "auth/user/", "delivery/jobqueue/", "delivery/storedjob/",
    "tenants/servicetoken/", "delivery/runningpump/", "monitoring/jobround/", "subscriptions/organizationworker/",
)  # fmt: skip


# Of these lists, the page of the first row.
DETAILS = (
    "delivery/jobqueue/", "delivery/operatoraction/", "delivery/runningpump/", "monitoring/jobround/",
    "tenants/application/", "tenants/applicationsecret/", "tenants/eventtype/", "tenants/organization/",
)  # fmt: skip


def look(page: Page, about: str, found: dict[str, list[Any]]) -> None:
    """Have axe look at what is shown."""
    page.wait_for_load_state("networkidle")
    for violation in Axe().run(page).response["violations"]:
        if violation["impact"] in GRAVE:
            nodes = [node["html"][:200] for node in violation["nodes"][:3]]
            found.setdefault(violation["id"], []).append((about, violation["help"], nodes))


# Colours do not depend on the width, and what has no name or role does not depend on the theme.
@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_axe_finds_nothing_serious(browser, product, receiver, theme, size):
    receiver.behaviours["/seen"] = Behaviour(status=503)
    subscription = subscribe_blocking(product, receiver, "seen")
    event = send(product, "seen")
    lane = wait_for_lane(product, subscription["subscription_id"], "blocked")
    attempt = read(product, "request_attempts/", event_id=event, status="failed")[0]["request_attempt_id"]
    shown = [
        f"subscriptions/subscription/{subscription['subscription_id']}/change/",
        f"delivery/lane/{lane['lane_id']}/change/",
        f"delivery/lane/{lane['lane_id']}/do/skip/",
        f"events/event/{event}/change/",
        f"delivery/attemptlog/{attempt}/change/",
    ]
    queue = call(product, "POST", "job_queues/", name=f"axe {theme}")["job_queue_id"]
    call(product, "POST", f"job_queues/{queue}/jobs/", jobs=[{"id": "a", "definition": {"b": 1}}])
    page = browser.new_page(viewport=size, color_scheme=theme)
    found: dict[str, list[Any]] = {}
    admin = product.credentials.admin_url
    page.goto(admin)
    look(page, "log in", found)
    log_in(page, product.credentials)
    for address in [*ADDRESSES, f"delivery/storedjob/?queue__id__exact={queue}", *shown]:
        page.goto(f"{admin}{address}")
        look(page, address, found)
    for address in (*DETAILS, f"delivery/storedjob/?queue__id__exact={queue}"):
        page.goto(f"{admin}{address}")
        page.locator("#result_list tbody th a").first.click()
        look(page, f"one of {address}", found)
    page.goto(f"{admin}tenants/application/{product.credentials.application_id}/do/new_secret/")
    page.get_by_label("Name").fill("axe")
    page.get_by_role("button", name="New secret").click()
    expect(page.get_by_test_id("secret")).to_be_visible()
    look(page, "a secret that is shown", found)
    page.close()
    assert found == {}, found
