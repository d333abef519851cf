"""`python -m tests.browser.screenshots [folder]`: pictures of the admin of a product that is started for them."""

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from playwright.sync_api import Page

from delivery.attempt_ids import delivery_id_of
from hook0.receiver import Behaviour, Receiver, start_in_thread
from tests.browser.chromium import NARROW, WIDE, chromium, log_in
from tests.browser.stage import read, send, subscribe_blocking, wait_for_lane
from tests.cluster import ROOT
from tests.flow.conftest import Product, running_product
from tests.flow.test_first_webhook import call, subscribe

FOLDER = ROOT / "docs" / "screenshots"
LOADED, PER_SECOND = 4_000, 8  # so slow that it is under way in all pictures


def pages(product: Product, receiver: Receiver) -> dict[str, str]:
    """The addresses of what is shown, by the pictures' names."""
    receiver.behaviours["/orders"] = Behaviour(status=503, body='{"error": "the warehouse is closed"}')
    good = subscribe(product, receiver, "/mail", description="Mail to customers", labels={"demo": "mail"})
    log = {"description": "Order log", "labels": {"demo": "orders"}, "retry_policy": {"schedule_ms": []}}
    subscribe(product, receiver, "/orders", **log)
    blocking = subscribe_blocking(product, receiver, "orders")
    for number in range(12):
        send(product, "mail", f'{{"number": {number}}}')
    events = [
        send(product, "orders", f'{{"order": {number}}}', keys_if_undelivered=[["failed-orders", f"order-{number}"]])
        for number in range(5)
    ]
    lane = wait_for_lane(product, blocking["subscription_id"], "blocked")
    call(product, "POST", f"lanes/{lane['lane_id']}/skip/", reason="the order was cancelled by telephone")
    wait_for_lane(product, blocking["subscription_id"], "blocked")
    time.sleep(65)  # the charts are drawn each minute
    failed = read(product, "request_attempts/", event_id=events[0], status="failed")[0]["request_attempt_id"]
    waiting = read(product, "request_attempts/", status="waiting,pending")[0]["request_attempt_id"]
    letter = read(product, "dead_letters/")[0]["dead_letter_id"]
    key = read(product, "keys/", prefix="failed-orders")[0]["key_id"]
    queue = put_jobs(product)
    load_id = load(product)
    replay = call(product, "POST", "replays/", since="2026-01-01T00:00:00Z", status="all")["replay_id"]
    application, organization = product.credentials.application_id, product.credentials.organization_id
    return {
        "home": "",
        "subscriptions": "subscriptions/subscription/",
        "subscription": f"subscriptions/subscription/{good['subscription_id']}/change/",
        "new-subscription": "subscriptions/subscription/add/",
        "rotate-secret": f"subscriptions/subscription/{good['subscription_id']}/do/rotate_secret/",
        "lanes": "delivery/lane/",
        "lane": f"delivery/lane/{lane['lane_id']}/change/",
        "skip": f"delivery/lane/{lane['lane_id']}/do/skip/",
        "events": "events/event/",
        "event": f"events/event/{events[0]}/change/",
        "attempts": "delivery/attemptlog/",
        "attempt": f"delivery/attemptlog/{failed}/change/",
        "dead-letters": "delivery/deadletter/",
        "dead-letter": f"delivery/deadletter/{letter}/change/",
        "undelivered": "events/undelivered/",
        "undelivered-event": f"events/undelivered/{key}/change/",
        "bulk-loads": "events/bulkload/",
        "bulk-load": f"events/bulkload/{load_id}/change/",
        "replays": "events/replay/",
        "replay": f"events/replay/{replay}/change/",
        "job-queues": "delivery/jobqueue/",
        "job-queue": f"delivery/jobqueue/{queue}/change/",
        "jobs": f"delivery/storedjob/?queue__id__exact={queue}",
        "what-was-done": "delivery/operatoraction/",
        "applications": "tenants/application/",
        "application": f"tenants/application/{application}/change/",
        "application-secrets": "tenants/applicationsecret/",
        "event-types": "tenants/eventtype/",
        "organizations": "tenants/organization/",
        "organization": f"tenants/organization/{organization}/change/",
        "service-tokens": "tenants/servicetoken/",
        "workers": "subscriptions/worker/",
        "pumps": "delivery/runningpump/",
        "users": "auth/user/",
        "groups": "auth/group/",
        "jobs-on-the-clock": "monitoring/jobround/",
        "workers-of-organizations": "subscriptions/organizationworker/",
        "pending-delivery": f"delivery/requestattempt/{delivery_id_of(uuid.UUID(waiting))}/change/",
    }


# Of these lists, the page of the first row.
DETAILS = {
    "action": "delivery/operatoraction/",
    "application-secret": "tenants/applicationsecret/",
    "service-token": "tenants/servicetoken/",
    "event-type": "tenants/eventtype/",
    "worker": "subscriptions/worker/",
}


def put_jobs(product: Product) -> str:
    """A queue with jobs in several states; its id."""
    queue = call(product, "POST", "job_queues/", name="invoices")["job_queue_id"]
    jobs = [{"id": f"invoice-{n}", "type": "print", "definition": {"invoice": n}, "tags": ["paper"]} for n in range(6)]
    call(product, "POST", f"job_queues/{queue}/jobs/", jobs=jobs)
    call(product, "POST", f"job_queues/{queue}/claim/", assignee="printer-1", limit=3)
    call(product, "POST", f"job_queues/{queue}/jobs/invoice-0/complete/", result={"pages": 2})
    call(product, "POST", f"job_queues/{queue}/jobs/invoice-1/fail/", error="the printer is out of paper")
    return str(queue)


def load(product: Product) -> str:
    """A bulk load by Spark that is being released; its id."""
    event = {
        "event_type": "demo.greeting.sent", "payload": '{"hello": "world"}', "labels": {"demo": "mail"},
        "payload_content_type": "application/json", "occurred_at": "2026-01-31T12:00:00Z",
    }  # fmt: skip
    file = product.home / "events.json"
    file.write_text(f"{json.dumps(event)}\n" * LOADED)
    command = [sys.executable, "-m", "spark_ingest", "--source", str(file), "--format", "json", "--json"]
    command += ["--application-id", product.credentials.application_id, "--rate", str(PER_SECOND)]
    environment = {**os.environ, "DATABASE_URL": product.credentials.database_url}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["load_id"])


def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    receiver = start_in_thread(Receiver())
    with running_product() as product, chromium() as browser:
        addresses = pages(product, receiver)
        name_worker(browser.new_page(), product)
        for theme in ("light", "dark"):
            for size, viewport in {"wide": WIDE, "narrow": NARROW}.items():
                page = browser.new_page(viewport=viewport, color_scheme=theme)
                page.goto(product.credentials.admin_url)
                page.screenshot(path=folder / f"log-in-{theme}-{size}.png")
                log_in(page, product.credentials)
                for name, address in addresses.items():
                    page.goto(f"{product.credentials.admin_url}{address}")
                    draw(page, folder / f"{name}-{theme}-{size}.png")
                for name, address in {"job": addresses["jobs"], **DETAILS}.items():
                    page.goto(f"{product.credentials.admin_url}{address}")
                    page.locator("#result_list tbody th a").first.click()
                    draw(page, folder / f"{name}-{theme}-{size}.png")
                say(page, f"{product.credentials.admin_url}{addresses['application']}", "New secret", Name="Backend")
                draw(page, folder / f"shown-secret-{theme}-{size}.png")
                say(page, f"{product.credentials.admin_url}{addresses['subscription']}", "Send a test")
                draw(page, folder / f"test-answer-{theme}-{size}.png")
                page.goto(product.credentials.admin_url)
                page.keyboard.press("Control+k")
                page.locator("#search-input-command").press_sequentially("order")
                page.locator("#command-results-list a").first.wait_for()
                page.screenshot(path=folder / f"search-{theme}-{size}.png")
                page.close()


def name_worker(page: Page, product: Product) -> None:
    """There is no other way to do that than the admin."""
    log_in(page, product.credentials)
    page.goto(f"{product.credentials.admin_url}subscriptions/worker/add/")
    page.get_by_label("Name").fill("reports")
    page.get_by_role("button", name="Save").first.click()
    page.close()


def say(page: Page, address: str, verb: str, **fields: str) -> None:
    """Press a verb's button, fill in what it asks, and confirm."""
    page.goto(address)
    page.get_by_role("link", name=verb, exact=True).click()
    for label, value in fields.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name=verb).click()


def draw(page: Page, file: Path) -> None:
    """As high as the page: what sticks to the window's edges would lie across a longer picture."""
    page.wait_for_load_state("networkidle")
    window = page.viewport_size or WIDE
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": window["width"], "height": max(height, window["height"])})
    page.screenshot(path=file)
    page.set_viewport_size(window)


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
