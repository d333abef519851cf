"""Kinds of admin pages."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


class UndeletableAdmin(admin.ModelAdmin):
    """Rows that so much hangs on that a click must not take them away."""

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False


class ReadOnlyAdmin(UndeletableAdmin):
    """Rows that are moved by functions, never edited: nobody may add, change or delete them here."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False
