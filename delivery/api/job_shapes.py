"""What requests and answers about jobs look like."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from delivery.api.job_documents import Base64Field, as_base64, as_json
from delivery.jobs import limits
from delivery.jobs.job import Job
from delivery.jobs.states import State
from tenants.fields import no_control_characters


def tags_field(**kwargs: Any) -> serializers.ListField:
    """Tags, all of which a job must have; it may have more."""
    tag = serializers.CharField(max_length=limits.TAG_CHARACTERS, trim_whitespace=False)
    return serializers.ListField(child=tag, max_length=limits.TAGS, required=False, default=list, **kwargs)


def ids_field() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=limits.ID_CHARACTERS, trim_whitespace=False),
        max_length=limits.BATCH,
        required=False,
        default=list,
    )


class JobPost(serializers.Serializer[Any]):
    id = serializers.RegexField(
        r"^[^/\x00-\x1f\x7f-\x9f]+$",
        max_length=limits.ID_CHARACTERS,
        trim_whitespace=False,
        help_text="Yours; once in the queue.",
    )
    type = serializers.CharField(
        max_length=limits.TYPE_CHARACTERS,
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        validators=[no_control_characters],
    )
    definition = serializers.JSONField(required=False, help_text="Any JSON, up to 512 KiB.")
    definition_base64 = Base64Field(required=False, allow_blank=True, help_text="In its place: any bytes.")
    tags = tags_field()
    key = serializers.CharField(
        max_length=limits.KEY_CHARACTERS,
        required=False,
        allow_null=True,
        default=None,
        trim_whitespace=False,
        help_text="In a FIFO queue: of each key one job runs at a time, in order.",
    )
    priority = serializers.IntegerField(
        min_value=limits.PRIORITIES[0], max_value=limits.PRIORITIES[1], required=False, default=100
    )
    retry_limit = serializers.IntegerField(
        min_value=0,
        max_value=limits.RETRIES,
        required=False,
        allow_null=True,
        default=None,
        help_text="Left out: that of the queue.",
    )


class JobsPost(serializers.Serializer[Any]):
    jobs = serializers.ListField(child=JobPost(), min_length=1, max_length=limits.BATCH)


class JobIdsAnswer(serializers.Serializer[Any]):
    ids = serializers.ListField(child=serializers.CharField(), help_text="In the order of the jobs.")


class JobAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=[state.value for state in State])
    type = serializers.CharField()
    definition = serializers.SerializerMethodField(help_text="If it is JSON.")
    definition_base64 = serializers.SerializerMethodField(help_text="If it is anything else.")
    tags = serializers.ListField(child=serializers.CharField())
    key = serializers.CharField(allow_null=True)
    priority = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True, help_text="When it was assigned for the first time.")
    finalized_at = serializers.DateTimeField(allow_null=True)
    last_retry_at = serializers.DateTimeField(allow_null=True)
    assignee = serializers.CharField(allow_null=True, help_text="The last one; kept when the job is over.")
    assigned_at = serializers.DateTimeField(allow_null=True)
    lease_until = serializers.DateTimeField(allow_null=True)
    retry_count = serializers.IntegerField()
    retry_limit = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    result = serializers.SerializerMethodField(help_text="If it is JSON.")
    result_base64 = serializers.SerializerMethodField(help_text="If it is anything else.")
    percent = serializers.IntegerField()
    stage = serializers.CharField(allow_null=True)
    events_count = serializers.IntegerField()

    @extend_schema_field({})
    def get_definition(self, job: Job) -> Any:
        return as_json(job.definition)

    def get_definition_base64(self, job: Job) -> str | None:
        return as_base64(job.definition)

    @extend_schema_field({})
    def get_result(self, job: Job) -> Any:
        return as_json(job.result)

    def get_result_base64(self, job: Job) -> str | None:
        return as_base64(job.result)


class JobStateAnswer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=[state.value for state in State], help_text="What it is now.")


class JobsChangedAnswer(serializers.Serializer[Any]):
    jobs = serializers.IntegerField(help_text="How many.")


class SelectionPost(serializers.Serializer[Any]):
    """The jobs that have all the tags, and those of the ids."""

    tags = tags_field()
    ids = ids_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["tags"] and not attrs["ids"]:
            raise serializers.ValidationError({"ids": "Name tags, ids, or both."})
        return attrs


class CancelledAnswer(serializers.Serializer[Any]):
    cancelled = serializers.ListField(child=serializers.CharField())
    unknown = serializers.ListField(
        child=serializers.CharField(), help_text="There is no such job, or it was over already."
    )


class AssigneePost(serializers.Serializer[Any]):
    assignee = serializers.CharField(
        max_length=limits.ASSIGNEE_CHARACTERS, trim_whitespace=False, help_text="How the worker calls itself."
    )
