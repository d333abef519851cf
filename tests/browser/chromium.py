"""Debian's Chromium without a screen, and an operator in front of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from hook0.installation import Credentials

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)


def find_chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def log_in(page: Page, credentials: Credentials) -> None:
    page.goto(credentials.admin_url)
    page.get_by_label("Username").fill(credentials.admin_username)
    page.get_by_label("Password").fill(credentials.admin_password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(credentials.admin_url)
