"""`/job_queues/{id}/jobs/`: jobs of a queue, and what their workers say of them."""

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.job_documents import Base64Field, document_in
from delivery.api.job_queues import queue_in
from delivery.api.job_shapes import JobAnswer, JobIdsAnswer, JobsPost, JobStateAnswer, tags_field
from delivery.jobs import NewJob, Queue, State, limits
from delivery.jobs.checks import check_id
from delivery.jobs.models import StoredJob, as_job
from delivery.problems import JobAlreadyExists, JobConflict
from tenants.fields import checked
from tenants.pages import Page, PageQuery
from tenants.problems import NotFound, raises

PAGE = 100


class JobListQuery(PageQuery):
    status = serializers.ChoiceField(choices=[state.value for state in State], required=False)
    tags = tags_field(help_text="All of them; repeat it.")


class CompletePost(serializers.Serializer[Any]):
    result = serializers.JSONField(required=False, help_text="Any JSON, up to 512 KiB.")
    result_base64 = Base64Field(required=False, allow_blank=True, help_text="In its place: any bytes.")


class JobErrorPost(serializers.Serializer[Any]):
    error = serializers.CharField(
        max_length=limits.ERROR_CHARACTERS, required=False, default="", allow_blank=True, trim_whitespace=False
    )


class FailPost(serializers.Serializer[Any]):
    error = serializers.CharField(max_length=limits.ERROR_CHARACTERS, trim_whitespace=False)


class AcknowledgePost(serializers.Serializer[Any]):
    was_executing = serializers.BooleanField(help_text="Whether the worker was at it.")


class JobProgressPost(serializers.Serializer[Any]):
    percent = serializers.IntegerField(min_value=limits.PERCENT[0], max_value=limits.PERCENT[1], required=False)
    stage = serializers.CharField(
        max_length=limits.STAGE_CHARACTERS, required=False, allow_blank=True, trim_whitespace=False
    )
    events_count = serializers.IntegerField(min_value=0, max_value=limits.EVENTS_COUNT, required=False)


@extend_schema(tags=["Jobs"])
class JobsView(APIView):
    @raises(JobAlreadyExists)
    @extend_schema(operation_id="jobs.enqueue", request=JobsPost, responses={201: JobIdsAnswer})
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Add jobs in this order, all of them or none.

        An id that the queue has already is refused, so a request can be repeated: then all of it is there.
        """
        queue = queue_in(request, job_queue_id)
        jobs = [_new(each) for each in checked(JobsPost, request.data)["jobs"]]
        return Response(JobIdsAnswer({"ids": queue.enqueue_many(jobs)}).data, status=201)

    @extend_schema(operation_id="jobs.list", parameters=[JobListQuery], responses=JobAnswer(many=True))
    def get(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """The jobs of a queue, newest first."""
        queue = queue_in(request, job_queue_id)
        wanted = checked(JobListQuery, request.query_params)
        found = StoredJob.objects.filter(queue=queue.id)
        if "status" in wanted:
            found = found.filter(status=wanted["status"])
        if wanted["tags"]:
            found = found.filter(tags__contains=wanted["tags"])
        page = Page(request, found, by=["-id"], size=PAGE)
        return page.answer(JobAnswer([as_job(row) for row in page.rows], many=True).data)


@extend_schema(tags=["Jobs"])
class JobView(APIView):
    @extend_schema(operation_id="jobs.get", responses=JobAnswer)
    def get(self, request: Request, job_queue_id: uuid.UUID, job_id: str) -> Response:
        """One job, with its definition and its result."""
        queue = queue_in(request, job_queue_id)
        return Response(JobAnswer(queue.get(_possible(job_id))).data)


def _new(fields: dict[str, Any]) -> NewJob:
    names = ("id", "type", "tags", "key", "priority", "retry_limit")
    return NewJob(definition=document_in(fields, "definition"), **{name: fields[name] for name in names})


def _possible(job_id: str) -> str:
    """What cannot be an id is none of a job."""
    try:
        return check_id(job_id)
    except serializers.ValidationError:
        raise NotFound from None


Act = Callable[[Queue, str, dict[str, Any]], State]


def _verb(operation: str, described: str, body: type[serializers.Serializer[Any]] | None, act: Act) -> type[APIView]:
    """The view of something that is said of one job."""

    @raises(JobConflict)
    @extend_schema(operation_id=operation, description=described, tags=["Jobs"], request=body, responses=JobStateAnswer)
    def post(_: APIView, request: Request, job_queue_id: uuid.UUID, job_id: str) -> Response:
        queue = queue_in(request, job_queue_id)
        state = act(queue, _possible(job_id), checked(body, request.data) if body else {})
        return Response(JobStateAnswer({"id": job_id, "status": state}).data)

    return type("JobVerbView", (APIView,), {"post": post})


CompleteView = _verb(
    "jobs.complete",
    "The job is done, with this result.",
    CompletePost,
    lambda queue, job, body: queue.complete(job, document_in(body, "result")),
)
FailView = _verb(
    "jobs.fail",
    "The job failed, and can be assigned again at once. If it has no retry left it is EXHAUSTED.",
    FailPost,
    lambda queue, job, body: queue.fail(job, body["error"]),
)
StopView = _verb(
    "jobs.stop",
    "The job ends here, and is not tried again.",
    JobErrorPost,
    lambda queue, job, body: queue.stop(job, body["error"]),
)
StopWithRetryView = _verb(
    "jobs.stopWithRetry",
    "The job failed while it was being cancelled. It is not tried again; the retry is counted.",
    JobErrorPost,
    lambda queue, job, body: queue.stop_with_retry(job, body["error"]),
)
MarkUnknownStoppedView = _verb(
    "jobs.markUnknownStopped",
    "Nobody knows what became of the job, and it is not tried again.",
    JobErrorPost,
    lambda queue, job, body: queue.mark_unknown_stopped(job, body["error"]),
)
AcknowledgeCancellationView = _verb(
    "jobs.acknowledgeCancellation",
    "The worker has stopped a job that was being cancelled, or never had it.",
    AcknowledgePost,
    lambda queue, job, body: queue.acknowledge_cancellation(job, was_executing=body["was_executing"]),
)
JobProgressView = _verb(
    "jobs.progress",
    "Say how far the job has come, and renew its lease. An answer of CANCELLING says to stop it.",
    JobProgressPost,
    lambda queue, job, body: queue.progress(job, **body),
)
JobRetryView = _verb(
    "jobs.retry",
    "Try the job once more after it has used up its retries. In a FIFO queue it is next of its key.",
    None,
    lambda queue, job, _: queue.retry(job),
)
