"""What is said of many jobs of a queue at once: `/job_queues/{id}/claim/` and its kin."""

import uuid
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.job_queues import find_queue, queue_in
from delivery.api.job_shapes import (
    AssigneePost,
    CancelledAnswer,
    JobAnswer,
    JobsChangedAnswer,
    SelectionPost,
    tags_field,
)
from delivery.jobs import State, limits
from delivery.jobs.models import StoredJob
from delivery.problems import JobConflict
from tenants.fields import checked
from tenants.pages import Page, PageQuery
from tenants.problems import raises

MOST = 100
PAGE = 100


class ClaimPost(AssigneePost):
    tags = tags_field()
    limit = serializers.IntegerField(min_value=1, max_value=MOST, required=False, default=10)


class ClaimAnswer(serializers.Serializer[Any]):
    jobs = JobAnswer(many=True)


class CleanUpPost(serializers.Serializer[Any]):
    older_than_seconds = serializers.IntegerField(
        min_value=limits.RETENTION_SECONDS[0], max_value=limits.RETENTION_SECONDS[1]
    )


class StatisticsQuery(serializers.Serializer[Any]):
    tags = tags_field(help_text="All of them; repeat it.")


class StatisticsAnswer(serializers.Serializer[Any]):
    tags = serializers.ListField(child=serializers.CharField())
    total_jobs = serializers.IntegerField()
    pending_jobs = serializers.IntegerField()
    running_jobs = serializers.IntegerField(help_text="Those that are being cancelled, too.")
    completed_jobs = serializers.IntegerField()
    stopped_jobs = serializers.IntegerField(help_text="In a final state other than COMPLETED.")
    failed_jobs = serializers.IntegerField(help_text="FAILED_RETRY, UNKNOWN_RETRY and EXHAUSTED.")
    total_retries = serializers.IntegerField()


class BlockedKeyAnswer(serializers.Serializer[Any]):
    key = serializers.CharField()
    job_id = serializers.CharField(help_text="Retry or delete this one, and the key goes on.")
    error = serializers.CharField(allow_null=True)
    blocked_since = serializers.DateTimeField(source="finalized_at")


@extend_schema(tags=["Job queues"])
class ClaimView(APIView):
    @extend_schema(operation_id="jobQueues.claim", request=ClaimPost, responses=ClaimAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Have the oldest jobs assigned to a worker that have all the tags, so many at most."""
        queue = queue_in(request, job_queue_id)
        body = checked(ClaimPost, request.data)
        jobs = queue.claim(body["assignee"], tags=body["tags"], most=body["limit"])
        return Response(ClaimAnswer({"jobs": jobs}).data)


@extend_schema(tags=["Job queues"])
class JobCancelView(APIView):
    @extend_schema(operation_id="jobQueues.cancel", request=SelectionPost, responses=CancelledAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Cancel jobs by tags, by ids or both. What runs is CANCELLING until its worker acknowledges that."""
        queue = queue_in(request, job_queue_id)
        body = checked(SelectionPost, request.data)
        return Response(CancelledAnswer(queue.cancel(tags=body["tags"], ids=body["ids"])).data)


@extend_schema(tags=["Job queues"])
class JobDeleteView(APIView):
    @raises(JobConflict)
    @extend_schema(operation_id="jobQueues.deleteJobs", request=SelectionPost, responses=JobsChangedAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Delete jobs by tags, by ids or both: all, or none if one of them is not over. A blocked key goes on."""
        queue = queue_in(request, job_queue_id)
        body = checked(SelectionPost, request.data)
        return _changed(queue.delete(tags=body["tags"], ids=body["ids"]))


@extend_schema(tags=["Job queues"])
class MarkWorkerUnresponsiveView(APIView):
    @extend_schema(operation_id="jobQueues.markWorkerUnresponsive", request=AssigneePost, responses=JobsChangedAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Take all jobs from a worker that is gone. What ran can be assigned to others."""
        queue = queue_in(request, job_queue_id)
        return _changed(queue.mark_worker_unresponsive(checked(AssigneePost, request.data)["assignee"]))


@extend_schema(tags=["Job queues"])
class ResetRunningView(APIView):
    @extend_schema(operation_id="jobQueues.resetRunning", request=None, responses=JobsChangedAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Take all jobs from all workers, as after a restart of everything."""
        return _changed(queue_in(request, job_queue_id).reset_running())


@extend_schema(tags=["Job queues"])
class CleanUpView(APIView):
    @extend_schema(operation_id="jobQueues.cleanUp", request=CleanUpPost, responses=JobsChangedAnswer)
    def post(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """Delete the jobs that were completed longer ago than this."""
        queue = queue_in(request, job_queue_id)
        seconds = checked(CleanUpPost, request.data)["older_than_seconds"]
        return _changed(queue.clean_up_expired(timedelta(seconds=seconds)))


@extend_schema(tags=["Job queues"])
class JobStatisticsView(APIView):
    @extend_schema(operation_id="jobQueues.stats", parameters=[StatisticsQuery], responses=StatisticsAnswer)
    def get(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """How many jobs have all the tags, by what became of them."""
        queue = queue_in(request, job_queue_id)
        return Response(StatisticsAnswer(queue.statistics(checked(StatisticsQuery, request.query_params)["tags"])).data)


@extend_schema(tags=["Job queues"])
class BlockedKeysView(APIView):
    @extend_schema(operation_id="jobQueues.blockedKeys", parameters=[PageQuery], responses=BlockedKeyAnswer(many=True))
    def get(self, request: Request, job_queue_id: uuid.UUID) -> Response:
        """The keys of a FIFO queue that wait until somebody retries or deletes a job, in the order of these."""
        queue = find_queue(request, job_queue_id)
        blocked = StoredJob.objects.filter(queue=queue, status=State.EXHAUSTED, key__isnull=False)
        page = Page(request, blocked, by=["id"], size=PAGE)
        return page.answer(BlockedKeyAnswer(page.rows, many=True).data)


def _changed(jobs: int) -> Response:
    return Response(JobsChangedAnswer({"jobs": jobs}).data)
