"""Every address of the admin, for what the database has."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import reverse

from tenants.admin_pages import StaffAdmin


def ours() -> Iterator[StaffAdmin]:
    """The kinds of pages that belong to tenants, not to Django's users."""
    return (page for page in admin.site._registry.values() if isinstance(page, StaffAdmin))


def name_of(page) -> str:
    return f"admin:{page.opts.app_label}_{page.opts.model_name}"


def lists() -> dict[str, str]:
    return {page.opts.label: reverse(f"{name_of(page)}_changelist") for page in ours()}


def rows() -> Iterator[tuple[StaffAdmin, Any]]:
    """The last row of each kind, whoever's it is."""
    for page in ours():
        if row := page.model._default_manager.order_by("-pk").first():
            yield page, row


def details() -> dict[str, str]:
    return {page.opts.label: page.address(row) for page, row in rows()}


def verbs() -> dict[str, str]:
    return {
        f"{page.opts.label}: {verb.name}": reverse(f"{name_of(page)}_verb", args=[row.pk, verb.name])
        for page, row in rows()
        for verb in page.verbs
    }
