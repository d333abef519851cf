"""`/job_queues/`: the queues of jobs."""

import uuid
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.jobs import Queue, limits
from delivery.jobs.models import JobQueue
from delivery.jobs.queues import change_queue, create_queue, delete_queue
from delivery.problems import JobQueueConflict
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.authentication import find, require_application
from tenants.fields import checked, no_control_characters
from tenants.pages import Page
from tenants.problems import raises

PAGE = 100


class JobQueuePut(serializers.Serializer[Any]):
    name = serializers.CharField(
        max_length=limits.QUEUE_NAME_CHARACTERS, trim_whitespace=False, validators=[no_control_characters]
    )
    lease_seconds = serializers.IntegerField(
        min_value=limits.LEASE_SECONDS[0],
        max_value=limits.LEASE_SECONDS[1],
        required=False,
        allow_null=True,
        default=None,
        help_text="How long a worker may be silent before its job is taken back. Left out: for ever.",
    )
    retry_limit = serializers.IntegerField(
        min_value=0,
        max_value=limits.RETRIES,
        required=False,
        allow_null=True,
        default=None,
        help_text="How often a job that names no limit of its own is tried again. Left out: without limit.",
    )
    retention_seconds = serializers.IntegerField(
        min_value=limits.RETENTION_SECONDS[0],
        max_value=limits.RETENTION_SECONDS[1],
        required=False,
        allow_null=True,
        default=None,
        help_text="How long completed jobs are kept. Left out: until you delete them.",
    )


class JobQueuePost(JobQueuePut):
    application_id = serializers.UUIDField()
    is_fifo = serializers.BooleanField(
        required=False, default=False, help_text="Every job has a key; of each key one runs at a time. It stays so."
    )


class JobQueueAnswer(serializers.Serializer[Any]):
    job_queue_id = serializers.UUIDField(source="id")
    application_id = serializers.UUIDField()
    name = serializers.CharField()
    is_fifo = serializers.BooleanField()
    lease_seconds = serializers.IntegerField(allow_null=True)
    retry_limit = serializers.IntegerField(allow_null=True)
    retention_seconds = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    stream_url = serializers.SerializerMethodField(help_text="Where a worker may stay connected.")

    def get_stream_url(self, queue: JobQueue) -> str:
        return f"{settings.STREAM_URL}/api/v1/job_queues/{queue.pk}/stream/"


class JobQueueListQuery(ApplicationListQuery):
    name = serializers.CharField(required=False, trim_whitespace=False)


def find_queue(request: Request, job_queue_id: uuid.UUID) -> JobQueue:
    return find(request, JobQueue.objects.all(), job_queue_id)


def queue_in(request: Request, job_queue_id: uuid.UUID) -> Queue:
    return Queue(find_queue(request, job_queue_id))


@extend_schema(tags=["Job queues"])
class JobQueuesView(APIView):
    @raises(JobQueueConflict)
    @extend_schema(operation_id="jobQueues.create", request=JobQueuePost, responses={201: JobQueueAnswer})
    def post(self, request: Request) -> Response:
        """Create a queue of jobs."""
        fields = checked(JobQueuePost, request.data)
        require_application(request, fields["application_id"])
        queue = create_queue(fields.pop("application_id"), fields.pop("name"), **fields)
        return Response(JobQueueAnswer(queue).data, status=201)

    @extend_schema(operation_id="jobQueues.list", parameters=[JobQueueListQuery], responses=JobQueueAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The job queues of an application, by name."""
        found = JobQueue.objects.filter(application_id=application_asked_for(request))
        wanted = checked(JobQueueListQuery, request.query_params)
        if "name" in wanted:
            found = found.filter(name=wanted["name"])
        page = Page(request, found, by=["name"], size=PAGE)
        return page.answer(JobQueueAnswer(page.rows, many=True).data)


@extend_schema(tags=["Job queues"])
class JobQueueView(APIView):
    @extend_schema(operation_id="jobQueues.get", responses=JobQueueAnswer)
    def get(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """One queue of jobs, with its settings."""
        return Response(JobQueueAnswer(find_queue(request, job_queue_id)).data)

    @raises(JobQueueConflict)
    @extend_schema(operation_id="jobQueues.update", request=JobQueuePut, responses=JobQueueAnswer)
    def put(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Replace the settings of a queue. They count for what is assigned and added from now on."""
        queue = find_queue(request, job_queue_id)
        return Response(JobQueueAnswer(change_queue(queue, checked(JobQueuePut, request.data))).data)

    @raises(JobQueueConflict)
    @extend_schema(operation_id="jobQueues.delete", responses={204: None})
    def delete(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Delete a queue with its jobs, if all of these are over."""
        delete_queue(find_queue(request, job_queue_id))
        return Response(status=204)
