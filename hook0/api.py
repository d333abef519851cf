"""What belongs to the installation as a whole: the public pages of the API."""

from typing import Any

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hook0 import problems
from tenants.problems import NotFound


class PublicView(APIView):
    """Readable without credentials."""

    authentication_classes = ()
    permission_classes = (AllowAny,)


class InstanceView(PublicView):
    """What a client should know of this installation."""

    def get(self, request: Request) -> Response:
        return Response(
            {
                "biscuit_public_key": "",
                "registration_disabled": True,
                "password_minimum_length": 12,
                "auto_db_migration": False,
                "application_secret_compatibility": True,
                "quota_enforcement": False,
                "matomo": None,
                "formbricks": None,
                "support_email_address": "",
                "cloudflare_turnstile_site_key": None,
            }
        )


class ErrorsView(PublicView):
    """Every error the API may answer with."""

    def get(self, request: Request) -> Response:
        return Response(problems.catalogue())


class AnyOtherView(PublicView):
    """Under `/api/` even a wrong address gets a Problem document."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"There is nothing at {request.path}.")
