"""The admin is for everybody: axe finds nothing serious on its pages, light or dark, wide or narrow."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from hook0.receiver import Behaviour
from tests.browser.chromium import NARROW, WIDE, log_in
from tests.browser.stage import read, send, subscribe_blocking, wait_for_lane

pytestmark = pytest.mark.flow

GRAVE = {"serious", "critical"}


ADDRESSES = (
    "", "subscriptions/subscription/", "subscriptions/subscription/add/", "delivery/lane/", "events/event/",
    "delivery/attemptlog/", "delivery/deadletter/", "events/undelivered/", "events/replay/", "events/bulkload/",
    "delivery/operatoraction/", "tenants/organization/", "tenants/application/", "tenants/eventtype/",
    "tenants/applicationsecret/", "subscriptions/worker/", "auth/user/",
)  # fmt: skip


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
    page = browser.new_page(viewport=size, color_scheme=theme)
    log_in(page, product.credentials)
    found = {}
    for address in [*ADDRESSES, *shown]:
        page.goto(f"{product.credentials.admin_url}{address}")
        page.wait_for_load_state("networkidle")
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in GRAVE:
                nodes = [node["html"][:200] for node in violation["nodes"][:3]]
                found.setdefault(violation["id"], []).append((address, violation["help"], nodes))
    page.close()
    assert found == {}, found
