"""A subscription as it is asked for, with the checks, and as it is shown."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from subscriptions import limits
from subscriptions.addresses import is_forbidden, literal_address
from subscriptions.headers import complaint_about
from subscriptions.models import Subscription
from subscriptions.problems import LabelsAmbiguity
from tenants.fields import StringMap, checked, no_control_characters


class HttpTarget(serializers.Serializer[Any]):
    """Where webhooks go."""

    type = serializers.ChoiceField(choices=["http"])
    method = serializers.ChoiceField(choices=Subscription.Method.choices)
    url = serializers.CharField(max_length=limits.URL_CHARACTERS, validators=[no_control_characters])
    headers = serializers.DictField(
        child=serializers.CharField(max_length=limits.HEADER_CHARACTERS, allow_blank=True, trim_whitespace=False)
    )

    def validate_url(self, url: str) -> str:
        try:
            parts = urlsplit(url)
            _ = parts.port  # raises where it is no number
        except ValueError as problem:
            raise serializers.ValidationError(f"This is not a URL: {problem}.", code="url") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or " " in url:
            raise serializers.ValidationError("This must be an http or https URL with a host.", code="url")
        address = literal_address(parts.hostname)  # what a name resolves to is looked at when it is connected to
        if address and is_forbidden(address, settings.ALLOWED_TARGETS):
            raise serializers.ValidationError(
                f"Webhooks are not sent to {address}: it is a private or reserved address.", code="forbidden_address"
            )
        return url

    def validate_headers(self, headers: dict[str, str]) -> dict[str, str]:
        if len(headers) > limits.HEADERS:
            raise serializers.ValidationError(f"At most {limits.HEADERS} headers.", code="length")
        for name, value in headers.items():
            if len(name) > limits.HEADER_CHARACTERS or (complaint := complaint_about(name, value)):
                raise serializers.ValidationError(complaint or "The name is too long.", code="header")
        return {name.lower(): value for name, value in headers.items()}


class PullTarget(serializers.Serializer[Any]):
    """Nowhere: consumers come and fetch."""

    type = serializers.ChoiceField(choices=["pull"])
    lease_seconds = serializers.IntegerField(
        min_value=limits.LEASE_SECONDS[0], max_value=limits.LEASE_SECONDS[1], required=False, default=30
    )


_TARGETS: dict[str, type[serializers.Serializer[Any]]] = {"http": HttpTarget, "pull": PullTarget}


@extend_schema_field(PolymorphicProxySerializer("Target", {**_TARGETS}, resource_type_field_name="type"))
class Target(serializers.Field[dict[str, Any], Any, dict[str, Any], Any]):
    """One of the targets, by its type."""

    default_error_messages = {
        "not_a_target": "This must be an object with a `type`.",
        "type": "This must be `http` or `pull`.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            self.fail("not_a_target")
        kind = data.get("type")
        if not isinstance(kind, str) or kind not in _TARGETS:
            raise serializers.ValidationError({"type": [self.error_messages["type"]]})
        return dict(checked(_TARGETS[kind], data))

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        return value


class RetryPolicy(serializers.Serializer[Any]):
    """Numbers over the default policy, or an explicit schedule."""

    max_fast_retries = serializers.IntegerField(min_value=0, max_value=limits.RETRIES, required=False)
    max_slow_retries = serializers.IntegerField(min_value=0, max_value=limits.RETRIES, required=False)
    fast_min_ms = serializers.IntegerField(min_value=1, max_value=limits.WAIT_MS, required=False)
    fast_max_ms = serializers.IntegerField(min_value=1, max_value=limits.WAIT_MS, required=False)
    slow_ms = serializers.IntegerField(min_value=1, max_value=limits.WAIT_MS, required=False)
    schedule_ms = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=limits.WAIT_MS),
        max_length=limits.SCHEDULE_ENTRIES,
        required=False,
    )

    def validate(self, policy: dict[str, Any]) -> dict[str, Any]:
        if "schedule_ms" in policy and len(policy) > 1:
            raise serializers.ValidationError({"schedule_ms": "A schedule goes without the other numbers."})
        return policy


class RateLimit(serializers.Serializer[Any]):
    """So many requests at most, over any such while."""

    requests = serializers.IntegerField(min_value=1, max_value=limits.RATE_REQUESTS)
    per_seconds = serializers.IntegerField(min_value=1, max_value=limits.RATE_SECONDS)


class SubscriptionPost(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    is_enabled = serializers.BooleanField()
    event_types = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False),
        min_length=limits.EVENT_TYPES[0],
        max_length=limits.EVENT_TYPES[1],
    )
    description = serializers.CharField(
        max_length=limits.DESCRIPTION_CHARACTERS,
        required=False,
        allow_null=True,
        validators=[no_control_characters],
    )
    metadata = StringMap(
        least=0,
        most=limits.METADATA_ENTRIES,
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        allow_null=True,
    )
    labels = StringMap(
        least=limits.LABELS[0],
        most=limits.LABELS[1],
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        allow_null=True,
    )
    label_key = serializers.CharField(max_length=100, required=False, allow_null=True)
    label_value = serializers.CharField(max_length=100, required=False, allow_null=True)
    target = Target()

    fifo_mode = serializers.BooleanField(required=False, default=False)
    fifo_key = serializers.RegexField(
        r"^(event_type|ordering_key|label:.{1,50})$",
        required=False,
        allow_null=True,
        default=None,
        error_messages={"invalid": "This must be `event_type`, `ordering_key` or `label:<name>`."},
    )
    fifo_on_exhausted = serializers.ChoiceField(
        choices=Subscription.OnExhausted.choices, required=False, default=Subscription.OnExhausted.ADVANCE
    )
    retry_policy = RetryPolicy(required=False, allow_null=True, default=None)
    timeout_ms = serializers.IntegerField(
        min_value=limits.TIMEOUT_MS[0], max_value=limits.TIMEOUT_MS[1], required=False
    )
    max_in_flight = serializers.IntegerField(
        min_value=limits.MAX_IN_FLIGHT[0], max_value=limits.MAX_IN_FLIGHT[1], required=False
    )

    rate_limit = RateLimit(required=False, allow_null=True, default=None)
    disable_after_hours = serializers.IntegerField(
        min_value=limits.DISABLE_AFTER_HOURS[0],
        max_value=limits.DISABLE_AFTER_HOURS[1],
        required=False,
        allow_null=True,
    )
    is_paused = serializers.BooleanField(required=False, default=False)
    dedicated_workers = serializers.ListField(
        child=serializers.CharField(max_length=limits.WORKER_CHARACTERS),
        min_length=limits.WORKERS[0],
        max_length=limits.WORKERS[1],
        required=False,
        allow_null=True,
    )

    def validate_event_types(self, names: list[str]) -> list[str]:
        for name in names:
            if len(name.encode()) > limits.EVENT_TYPE_BYTES:
                raise serializers.ValidationError(
                    f"Names must be at most {limits.EVENT_TYPE_BYTES} bytes.", code="length"
                )
        return list(dict.fromkeys(names))

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        key, value = fields.pop("label_key", None), fields.pop("label_value", None)
        if not fields.get("labels"):
            if not key or not value:
                raise LabelsAmbiguity
            fields["labels"] = {key: value}
        if fields["target"]["type"] == "pull":
            _require_nothing_of_webhooks(fields)
        return fields


def _require_nothing_of_webhooks(fields: Mapping[str, Any]) -> None:
    """Consumers that pull come as they like: neither a rate nor workers have a meaning for them."""
    for name in ("rate_limit", "dedicated_workers"):
        if fields.get(name):
            raise serializers.ValidationError({name: "This is for targets of the type `http`; leave it out."})


class HttpTargetAnswer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["http"], source="target_type")
    method = serializers.CharField()
    url = serializers.CharField()
    headers = serializers.DictField(child=serializers.CharField())


class PullTargetAnswer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["pull"], source="target_type")
    lease_seconds = serializers.IntegerField()
    stream_url = serializers.SerializerMethodField(help_text="Where a consumer may stay connected.")

    def get_stream_url(self, subscription: Subscription) -> str:
        return f"{settings.STREAM_URL}/api/v1/subscriptions/{subscription.pk}/stream/"


_TARGET_ANSWERS: dict[str, type[serializers.Serializer[Any]]] = {"http": HttpTargetAnswer, "pull": PullTargetAnswer}


class SubscriptionAnswer(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    subscription_id = serializers.UUIDField(source="id")
    is_enabled = serializers.BooleanField()
    disabled_reason = serializers.SerializerMethodField(help_text="Why hook0 has disabled it.")
    event_types = serializers.ListField(child=serializers.CharField())
    description = serializers.SerializerMethodField()
    secret = serializers.UUIDField(help_text="Signs its webhooks.")
    metadata = serializers.DictField(child=serializers.CharField())
    label_key = serializers.SerializerMethodField(help_text="Of one of the labels.")
    label_value = serializers.SerializerMethodField(help_text="Of the same label.")
    labels = serializers.DictField(child=serializers.CharField())
    target = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    dedicated_workers = serializers.SerializerMethodField()
    fifo_mode = serializers.BooleanField()
    fifo_key = serializers.CharField(allow_null=True)
    fifo_on_exhausted = serializers.ChoiceField(choices=Subscription.OnExhausted.choices)
    retry_policy = serializers.DictField(allow_null=True)
    timeout_ms = serializers.IntegerField()
    max_in_flight = serializers.IntegerField()
    rate_limit = RateLimit(allow_null=True)
    is_paused = serializers.BooleanField()
    disable_after_hours = serializers.IntegerField(allow_null=True)

    def get_disabled_reason(self, subscription: Subscription) -> str | None:
        return subscription.disabled_reason or None

    def get_description(self, subscription: Subscription) -> str | None:
        return subscription.description or None

    def get_label_key(self, subscription: Subscription) -> str:
        return str(next(iter(subscription.labels)))

    def get_label_value(self, subscription: Subscription) -> str:
        return str(next(iter(subscription.labels.values())))

    @extend_schema_field(
        PolymorphicProxySerializer("TargetAnswer", {**_TARGET_ANSWERS}, resource_type_field_name="type")
    )
    def get_target(self, subscription: Subscription) -> dict[str, Any]:
        return dict(_TARGET_ANSWERS[subscription.target_type](subscription).data)

    def get_dedicated_workers(self, subscription: Subscription) -> list[str]:
        return sorted(worker.name for worker in subscription.dedicated_workers.all())


class WarningAnswer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class ConfiguredAnswer(SubscriptionAnswer):
    warnings = WarningAnswer(many=True)
