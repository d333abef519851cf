"""`python -m tests.browser.screenshots [folder]`: pictures of the admin of a product that is started for them."""

import sys
import time
from pathlib import Path

from hook0.receiver import Behaviour, Receiver, start_in_thread
from tests.browser.chromium import NARROW, WIDE, chromium, log_in
from tests.browser.stage import read, send, subscribe_blocking, wait_for_lane
from tests.cluster import ROOT
from tests.flow.conftest import Product, running_product
from tests.flow.test_first_webhook import subscribe

FOLDER = ROOT / "docs" / "screenshots"


def pages(product: Product, receiver: Receiver) -> dict[str, str]:
    """The addresses of what is shown, by the pictures' names."""
    receiver.behaviours["/orders"] = Behaviour(status=503, body='{"error": "the warehouse is closed"}')
    good = subscribe(product, receiver, "/mail", description="Mail to customers", labels={"demo": "mail"})
    blocking = subscribe_blocking(product, receiver, "orders")
    for number in range(12):
        send(product, "mail", f'{{"number": {number}}}')
    events = [send(product, "orders", f'{{"order": {number}}}') for number in range(5)]
    lane = wait_for_lane(product, blocking["subscription_id"], "blocked")
    time.sleep(65)  # the charts are drawn each minute
    failed = read(product, "request_attempts/", event_id=events[0], status="failed")[0]["request_attempt_id"]
    return {
        "home": "",
        "subscriptions": "subscriptions/subscription/",
        "subscription": f"subscriptions/subscription/{good['subscription_id']}/change/",
        "lanes": "delivery/lane/",
        "lane": f"delivery/lane/{lane['lane_id']}/change/",
        "skip": f"delivery/lane/{lane['lane_id']}/do/skip/",
        "events": "events/event/",
        "event": f"events/event/{events[0]}/change/",
        "attempts": "delivery/attemptlog/",
        "attempt": f"delivery/attemptlog/{failed}/change/",
        "dead-letters": "delivery/deadletter/",
        "what-was-done": "delivery/operatoraction/",
        "applications": "tenants/application/",
    }


def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    receiver = start_in_thread(Receiver())
    with running_product() as product, chromium() as browser:
        addresses = pages(product, receiver)
        for theme in ("light", "dark"):
            for size, viewport in {"wide": WIDE, "narrow": NARROW}.items():
                page = browser.new_page(viewport=viewport, color_scheme=theme)
                log_in(page, product.credentials)
                for name, address in addresses.items():
                    page.goto(f"{product.credentials.admin_url}{address}")
                    page.wait_for_load_state("networkidle")
                    # As high as the page: what sticks to the window's edges would lie across a longer picture.
                    height = page.evaluate("document.documentElement.scrollHeight")
                    page.set_viewport_size({"width": viewport["width"], "height": max(height, viewport["height"])})
                    page.screenshot(path=folder / f"{name}-{theme}-{size}.png")
                    page.set_viewport_size(viewport)
                page.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
