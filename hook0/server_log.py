"""How the web server writes its own lines: as the settings choose. The file beside this one is its `--log-config`."""

import logging
import os

from django.conf import settings

from hook0.logs import Json, Line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")  # the server logs before it loads the application


def chosen() -> logging.Formatter:
    return Json() if settings.LOG_FORMAT == "json" else Line()
