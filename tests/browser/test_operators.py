"""What operators do, from log-in to the webhook that arrives, in a real browser on the whole product."""

import re
import time

import pytest
import requests
from playwright.sync_api import Page, expect

from hook0.receiver import Behaviour, Receiver
from tests.browser.chromium import NARROW, log_in
from tests.browser.stage import PATIENCE_SECONDS, read, send, subscribe_blocking, wait_for_lane
from tests.flow.conftest import Product
from tests.flow.test_first_webhook import arrived, subscribe

pytestmark = pytest.mark.flow


def go(page: Page, product: Product, address: str) -> None:
    page.goto(f"{product.credentials.admin_url}{address}")


def say(page: Page, verb: str, **fields: str) -> None:
    """Press a verb's button, fill in what it asks, and confirm."""
    page.get_by_role("link", name=verb, exact=True).click()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ").capitalize()).fill(value)
    page.get_by_role("button", name=verb).click()


def bodies(receiver: Receiver, path: str) -> list[str]:
    return [each.body for each in receiver.received if each.path == path and each.answered == 200]


def blocked_lane(product: Product, receiver: Receiver, name: str, events: int = 3) -> int:
    """A lane that is held by an endpoint that is down; its id."""
    receiver.behaviours[f"/{name}"] = Behaviour(status=503)
    subscription = subscribe_blocking(product, receiver, name)
    for number in range(events):
        send(product, name, str(number))
    return int(wait_for_lane(product, subscription["subscription_id"], "blocked")["lane_id"])


def wait_until(happened) -> None:
    began = time.monotonic()
    while not happened():
        assert time.monotonic() < began + PATIENCE_SECONDS
        time.sleep(0.1)


def test_a_wrong_password_is_refused_and_logging_out_ends_it(browser, product):
    page = browser.new_page()
    page.goto(product.credentials.admin_url)
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Please enter the correct username and password")).to_be_visible()
    log_in(page, product.credentials)
    page.wait_for_load_state()
    page.locator("#nav-sidebar").get_by_text("admin", exact=True).click()
    page.get_by_role("button", name="Log out").click()
    page.goto(f"{product.credentials.admin_url}delivery/lane/")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    page.close()


def test_a_blocked_lane_is_found_on_the_home_page_and_unblocked_and_its_webhooks_arrive(page, product, receiver):
    blocked_lane(product, receiver, "unblocked")
    go(page, product, "")
    page.get_by_role("link", name=re.compile("unblocked: everything")).click()
    expect(page.get_by_text("E_HTTP 503").first).to_be_visible()
    receiver.behaviours.pop("/unblocked")
    say(page, "Retry the head", reason="the endpoint is back")
    expect(page.get_by_text("The head is tried now.")).to_be_visible()
    arrived(receiver, "/unblocked", 4)  # the one that failed, too
    assert bodies(receiver, "/unblocked") == ["0", "1", "2"]
    go(page, product, "delivery/operatoraction/")
    expect(page.get_by_text("the endpoint is back").first).to_be_visible()


def test_a_head_is_skipped_with_a_reason_and_sent_again_from_the_dead_letters(page, product, receiver):
    lane = blocked_lane(product, receiver, "skipped", events=2)
    receiver.behaviours.pop("/skipped")
    go(page, product, f"delivery/lane/{lane}/change/")
    say(page, "Skip the head")
    expect(page.get_by_text("This field is required")).to_be_visible()
    page.get_by_label("Reason").fill("it cannot be delivered")
    page.get_by_role("button", name="Skip the head").click()
    expect(page.get_by_text("The head is skipped.")).to_be_visible()
    wait_until(lambda: bodies(receiver, "/skipped") == ["1"])
    go(page, product, "delivery/deadletter/")
    page.locator("#result_list tbody", has_text="skipped").first.locator("th a").click()
    say(page, "Send again")
    wait_until(lambda: bodies(receiver, "/skipped") == ["1", "0"])


def test_a_purge_says_how_many_before_it_throws_them_away(page, product, receiver):
    lane = blocked_lane(product, receiver, "purged", events=4)
    go(page, product, f"delivery/lane/{lane}/change/")
    page.get_by_role("link", name="Purge", exact=True).click()
    expect(page.get_by_text("4 deliveries that wait here are thrown away for good.")).to_be_visible()
    page.get_by_label("Reason").fill("they were tests")
    page.get_by_role("button", name="Purge").click()
    expect(page.get_by_text("4 deliveries are thrown away.")).to_be_visible()
    expect(page.get_by_text("empty").first).to_be_visible()


def test_a_paused_subscription_keeps_what_comes_and_sends_it_when_it_is_resumed(page, product, receiver):
    subscription = subscribe(product, receiver, "/paused", labels={"demo": "paused"}, description="to be paused")
    go(page, product, f"subscriptions/subscription/{subscription['subscription_id']}/change/")
    say(page, "Pause")
    send(product, "paused", '"kept"')
    go(page, product, f"subscriptions/subscription/{subscription['subscription_id']}/change/")
    expect(page.get_by_text("nothing is sent, nothing is lost")).to_be_visible()
    assert bodies(receiver, "/paused") == []
    say(page, "Resume")
    wait_until(lambda: bodies(receiver, "/paused") == ['"kept"'])


def test_a_subscription_is_made_by_the_form_which_refuses_and_warns_as_the_api_does(page, product, receiver):
    go(page, product, "subscriptions/subscription/add/")
    page.get_by_label("Application").select_option(label="My application")
    page.get_by_label("Description").fill("made by hand")
    page.get_by_label("Event types").fill("demo.greeting.sent")
    page.get_by_label("Labels").fill("demo: by hand")
    page.get_by_label("URL").fill("http://10.0.0.1/")
    page.get_by_label("FIFO", exact=True).check(force=True)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Webhooks are not sent to 10.0.0.1")).to_be_visible()
    page.get_by_label("URL").fill(f"http://127.0.0.1:{receiver.port}/by-hand")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("FIFO sends one webhook at a time per lane")).to_be_visible()
    send(product, "by hand", "1")
    wait_until(lambda: bodies(receiver, "/by-hand") == ["1"])


def test_a_test_shows_what_the_endpoint_answers_and_shows_it_as_text(page, product, receiver):
    receiver.behaviours["/tested"] = Behaviour(status=418, body='{"I am": "<script>alert(1)</script>"}')
    subscription = subscribe(product, receiver, "/tested", labels={"demo": "tested"})
    go(page, product, f"subscriptions/subscription/{subscription['subscription_id']}/change/")
    say(page, "Send a test")
    expect(page.get_by_text("E_HTTP 418")).to_be_visible()
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()


def test_secrets_are_shown_once_and_work(page, product, receiver):
    subscription = subscribe(product, receiver, "/rotated", labels={"demo": "rotated"})
    address = f"subscriptions/subscription/{subscription['subscription_id']}/change/"
    go(page, product, address)
    say(page, "Rotate secret", overlap_seconds="0")
    secret = page.get_by_test_id("secret").inner_text()
    assert secret == read(product, f"subscriptions/{subscription['subscription_id']}/")["secret"]
    page.get_by_role("link", name="Done", exact=True).click()
    assert secret not in page.content()

    go(page, product, f"tenants/application/{product.credentials.application_id}/change/")
    say(page, "New secret", name="by hand")
    token = page.get_by_test_id("secret").inner_text()
    answer = requests.get(
        f"{product.credentials.api_url}/subscriptions/",
        params={"application_id": product.credentials.application_id},
        headers={"Authorization": f"Bearer {token}"},
        timeout=30,
    )
    assert answer.ok


def test_an_event_is_found_by_its_id_and_replayed(page, product, receiver):
    subscribe(product, receiver, "/replayed", labels={"demo": "replayed"})
    event = send(product, "replayed", '{"once": "more"}')
    wait_until(lambda: len(bodies(receiver, "/replayed")) == 1)
    go(page, product, "")
    page.keyboard.press("Control+k")
    page.locator("#search-input-command").press_sequentially(event)
    page.locator("#command-results-list a").first.click()
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    expect(page.get_by_text("successful").first).to_be_visible()
    say(page, "Replay")
    wait_until(lambda: len(bodies(receiver, "/replayed")) == 2)


def test_failed_attempts_are_found_by_their_error_and_sent_again(page, product, receiver):
    receiver.behaviours["/again"] = Behaviour(status=500, times=1)
    policy = {"schedule_ms": []}
    subscribe(product, receiver, "/again", labels={"demo": "again"}, retry_policy=policy, description="again")
    event = send(product, "again", "1")
    wait_until(lambda: read(product, "request_attempts/", event_id=event, status="failed"))
    go(page, product, "delivery/attemptlog/")
    page.get_by_label("Subscription").select_option(label="again")
    page.get_by_label("Error", exact=True).select_option("E_HTTP")
    page.get_by_label("HTTP status").fill("500")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name=re.compile("^Open")).click()
    expect(page.get_by_role("heading", name="Response")).to_be_visible()
    say(page, "Send again")
    wait_until(lambda: bodies(receiver, "/again") == ["1"])


def test_an_id_is_copied_by_a_click(product, receiver, page):
    subscription = subscribe(product, receiver, "/copied", labels={"demo": "copied"})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(page, product, f"subscriptions/subscription/{subscription['subscription_id']}/change/")
    page.locator("[data-copy]").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == subscription["subscription_id"]


def test_times_are_in_the_readers_zone_and_a_finger_can_ask_for_them(browser, product):
    context = browser.new_context(timezone_id="America/New_York", locale="en-US", viewport=NARROW, has_touch=True)
    page = context.new_page()
    log_in(page, product.credentials)
    go(page, product, "tenants/application/")
    made = page.locator("#result_list time").first
    its_own = re.compile(r"\d{4}.* E[SD]T$")
    expect(made).to_have_attribute("title", its_own)
    expect(made).to_have_text(re.compile("ago$"))
    made.tap()
    expect(made).to_have_text(its_own)
    made.tap()
    expect(made).to_have_text(re.compile("ago$"))
    context.close()


def test_a_page_looks_again_while_something_moves(page, product):
    bars = iter(['<progress data-moving max="10" value="3"></progress>', '<progress max="10" value="10"></progress>'])

    def move(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("</body>", f"{next(bars)}</body>"))

    page.route("**/tenants/application/", move)
    go(page, product, "tenants/application/")
    expect(page.locator("progress[data-moving]")).to_be_attached()
    expect(page.locator("progress")).to_have_attribute("value", "10")
    expect(page.locator("progress[data-moving]")).to_have_count(0)
