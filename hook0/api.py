"""What belongs to the installation as a whole: the public pages of the API."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hook0 import env, problems
from tenants.api.public import PublicView
from tenants.problems import NotFound, ProblemAnswer


class InstanceAnswer(serializers.Serializer[Any]):
    biscuit_public_key = serializers.CharField(help_text="Empty: tokens are no biscuits here.")
    registration_disabled = serializers.BooleanField()
    password_minimum_length = serializers.IntegerField()
    auto_db_migration = serializers.BooleanField()
    application_secret_compatibility = serializers.BooleanField()
    quota_enforcement = serializers.BooleanField()
    matomo = serializers.DictField(allow_null=True)
    formbricks = serializers.DictField(allow_null=True)
    support_email_address = serializers.CharField()
    cloudflare_turnstile_site_key = serializers.CharField(allow_null=True)


EnvironmentVariableAnswer = inline_serializer(  # as a class its fields would be in the way of its own attributes
    "EnvironmentVariableAnswer",
    {
        "name": serializers.CharField(),
        "env_var": serializers.CharField(),
        "description": serializers.CharField(),
        "default": serializers.CharField(allow_null=True),
        "sensitive": serializers.BooleanField(),
        "required": serializers.BooleanField(),
        "group": serializers.CharField(),
    },
    many=True,
)


class InstanceView(PublicView):
    @extend_schema(operation_id="instance.get", tags=["Installation"], responses=InstanceAnswer)
    def get(self, request: Request) -> Response:
        """What a client should know of this installation."""
        return Response(
            {
                "biscuit_public_key": "",
                "registration_disabled": True,
                "password_minimum_length": settings.PASSWORD_MINIMUM_LENGTH,
                "auto_db_migration": False,
                "application_secret_compatibility": True,
                "quota_enforcement": settings.QUOTAS_ENFORCED,
                "matomo": None,
                "formbricks": None,
                "support_email_address": settings.SUPPORT_EMAIL_ADDRESS,
                "cloudflare_turnstile_site_key": None,
            }
        )


class ErrorsView(PublicView):
    @extend_schema(operation_id="errors.list", tags=["Installation"], responses=ProblemAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The errors that Hook0's clients know by their ids."""
        return Response(problems.catalogue())


class EnvironmentVariablesView(PublicView):
    @extend_schema(
        operation_id="environmentVariables.list",
        tags=["Installation"],
        responses=EnvironmentVariableAnswer,
    )
    def get(self, request: Request) -> Response:
        """What an operator can set, and to what it defaults. It does not tell what is set."""
        return Response(
            [
                {
                    "name": variable.name,
                    "env_var": variable.name,
                    "description": variable.description,
                    "default": None if variable.sensitive else variable.default,
                    "sensitive": variable.sensitive,
                    "required": variable.default is None,
                    "group": variable.group,
                }
                for variable in env.VARIABLES.values()
            ]
        )


class AnyOtherView(PublicView):
    """Under `/api/` even a wrong address gets a Problem document."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"There is nothing at {request.path}.")
