"""Django's admin, with our site in place of its own."""

from django.contrib.admin.apps import AdminConfig


class Admin(AdminConfig):
    default_site = "hook0.desk.site.Site"
