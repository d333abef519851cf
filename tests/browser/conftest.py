"""A running product, and a browser in front of its admin."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import WIDE, chromium, find_chromium, log_in
from tests.flow.conftest import Product, running_product


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """CI must have what may be missing elsewhere. Of one module: the loop behind it would be in Django's way."""
    if not find_chromium():
        leave_out = pytest.fail if os.environ.get("CI") else pytest.skip
        leave_out("There is no Chromium: install it (Debian and Ubuntu: apt install chromium)")
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    with running_product() as product:
        yield product


@pytest.fixture
def page(browser: Browser, product: Product) -> Iterator[Page]:
    """An administrator who has logged in. Whatever a page asks of another host, or says of an error, fails the test."""
    page = browser.new_page(viewport=WIDE)
    page.set_default_timeout(20_000)
    origin = product.credentials.admin_url.removesuffix("/admin/")
    strange: list[str] = []
    page.on(
        "request", lambda request: None if request.url.startswith((origin, "data:")) else strange.append(request.url)
    )
    page.on("pageerror", lambda error: strange.append(str(error)))
    page.on("console", lambda said: strange.append(said.text) if said.type == "error" else None)
    log_in(page, product.credentials)
    yield page
    page.close()
    assert strange == []
