from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from delivery.audit import Operator, record
from delivery.jobs.models import JobQueue, StoredJob
from delivery.jobs.queue import Queue
from delivery.jobs.states import ASSIGNED, ENDED, State
from tenants.admin_pages import OfApplicationAdmin, ReadOnlyAdmin
from tenants.cells import Tone, badge, copyable, link, moment, pretty
from tenants.counts import Count, count
from tenants.staff import read_uuid
from tenants.verbs import GoodReason, Verb
from tenants.written import indented

QUEUE = "queue__id__exact"  # what a list of jobs is of, in its address
TONES: dict[str, Tone] = {
    State.INITIAL_PENDING: "busy", State.RUNNING: "busy", State.COMPLETED: "good", State.FAILED_RETRY: "bad",
    State.STOPPED: "off", State.UNSCHEDULED: "off", State.UNKNOWN_RETRY: "bad", State.CANCELLING: "busy",
    State.UNKNOWN_STOPPED: "off", State.EXHAUSTED: "bad",
}  # fmt: skip


def _said(
    action: str, told: str, act: Callable[[Queue, str], object]
) -> Callable[[Any, dict[str, Any], Operator], str]:
    """What a verb does to a job, on the record."""

    def run(job: Any, fields: dict[str, Any], by: Operator) -> str:
        with transaction.atomic():
            act(Queue(job.queue), job.job_id)
            record(by, action, application_id=job.queue.application_id, queue=job.queue.name, job=job.job_id)
        return told

    return run


VERBS = (
    Verb(
        "retry",
        "Try once more",
        _said("retry_job", "It is tried once more.", Queue.retry),
        lambda _: "It has used up its retries, and gets one more. In a FIFO queue it is next of its key.",
        offered=lambda job: bool(job.status == State.EXHAUSTED),
        icon="replay",
    ),
    Verb(
        "cancel",
        "Cancel",
        _said("cancel_job", "It is cancelled.", lambda queue, job: queue.cancel(ids=[job])),
        lambda job: (
            "Its worker is at it: it ends when the worker acknowledges that."
            if job.status in ASSIGNED
            else "It is not run any more."
        ),
        form=GoodReason,
        offered=lambda job: job.status not in (*ENDED, State.CANCELLING),
        icon="cancel",
        is_dangerous=True,
    ),
    Verb(
        "delete",
        "Delete",
        _said("delete_job", "It is gone.", lambda queue, job: queue.delete(ids=[job])),
        lambda _: "It is deleted for good. If it blocks its key, the next one goes on.",
        form=GoodReason,
        offered=lambda job: job.status in ENDED,
        icon="delete_forever",
        is_dangerous=True,
    ),
)


def _count(queue: Any, *states: State) -> Count:
    """As job_by_state has them; Queue.statistics would read them all. A page asks for each several times."""
    known: dict[tuple[State, ...], Count] = queue.__dict__.setdefault("counts", {})
    if states not in known:
        known[states] = count(StoredJob.objects.filter(queue=queue, status__in=states))
    return known[states]


@admin.register(JobQueue)
class JobQueueAdmin(OfApplicationAdmin, ReadOnlyAdmin):
    organization, application = "application__organization", "application"
    by = ("name", "id")
    list_display = ("name", "application_link", "order_kept", "lease_seconds", "retry_limit", "jobs")
    list_select_related = ("application",)
    search_fields = ("=name",)
    search_help_text = "A name, in full"
    fields = (
        "name", "application_link", "order_kept", "lease_seconds", "retry_limit", "retention_seconds", "copy_id",
        "created", "waiting", "running", "failing", "completed", "stopped", "blocked", "jobs",
    )  # fmt: skip
    nothing = "There are no job queues. Create one through the API, or with `delivery.jobs`."

    @admin.display(description="application")
    def application_link(self, queue: JobQueue) -> str:
        return link(reverse("admin:tenants_application_change", args=[queue.application_id]), queue.application)

    @admin.display(description="order")
    def order_kept(self, queue: JobQueue) -> str:
        return "FIFO, by key" if queue.is_fifo else "oldest first"

    @admin.display(description="jobs")
    def jobs(self, queue: JobQueue) -> str:
        return link(f"{reverse('admin:delivery_storedjob_changelist')}?{QUEUE}={queue.pk}", "all of them")

    @admin.display(description="waiting")
    def waiting(self, queue: JobQueue) -> Count:
        return _count(queue, State.INITIAL_PENDING)

    @admin.display(description="running")
    def running(self, queue: JobQueue) -> Count:
        return _count(queue, *ASSIGNED)

    @admin.display(description="failing")
    def failing(self, queue: JobQueue) -> Count:
        return _count(queue, State.FAILED_RETRY, State.UNKNOWN_RETRY, State.EXHAUSTED)

    @admin.display(description="completed")
    def completed(self, queue: JobQueue) -> Count:
        return _count(queue, State.COMPLETED)

    @admin.display(description="stopped")
    def stopped(self, queue: JobQueue) -> Count:
        return _count(queue, State.STOPPED, State.UNSCHEDULED, State.UNKNOWN_STOPPED)

    @admin.display(description="blocked keys")
    def blocked(self, queue: JobQueue) -> str:
        address = f"{reverse('admin:delivery_storedjob_changelist')}?{QUEUE}={queue.pk}&status__exact=EXHAUSTED"
        return link(address, "those of exhausted jobs") if queue.is_fifo else "–"


@admin.register(StoredJob)
class StoredJobAdmin(ReadOnlyAdmin):
    """Jobs, listed for one queue at a time: there may be millions, and indexes begin with the queue."""

    organization = "queue__application__organization"
    by = ("-id",)
    list_display = ("job_id", "state", "type", "queue_link", "key", "tagged", "assignee", "retry_count", "created")
    list_select_related = ("queue",)
    list_filter = ("status",)
    search_fields = ("=job_id",)
    search_help_text = "A job's id, in full"
    fields = (
        "copy_job_id", "state", "type", "queue_link", "tagged", "key", "priority", "created", "started", "finalized",
        "last_retry", "assignee", "assigned", "lease", "retry_count", "retry_limit", "percent", "stage", "events_count",
        "error", "defined", "came_out",
    )  # fmt: skip
    nothing = "There are no jobs. Enqueue one through the API, or with `delivery.jobs`: docs/how-to/run-jobs.md."
    verbs = VERBS
    actions = ("retry_selected",)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if read_uuid(request.GET.get(QUEUE)) is None:
            return HttpResponseRedirect(reverse("admin:delivery_jobqueue_changelist"))
        answer: HttpResponse = super().changelist_view(request, extra_context)
        return answer

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup == QUEUE or super().lookup_allowed(lookup, value, request)

    @admin.display(description="id")
    def copy_job_id(self, job: StoredJob) -> str:
        return copyable(job.job_id)

    @admin.display(description="state")
    def state(self, job: StoredJob) -> str:
        return badge(job.status.replace("_", " ").lower(), TONES[job.status])

    @admin.display(description="queue")
    def queue_link(self, job: StoredJob) -> str:
        return link(reverse("admin:delivery_jobqueue_change", args=[job.queue_id]), job.queue)

    @admin.display(description="tags")
    def tagged(self, job: StoredJob) -> str:
        return ", ".join(job.tags) or "–"

    @admin.display(description="started")
    def started(self, job: StoredJob) -> str:
        return moment(job.started_at)

    @admin.display(description="ended")
    def finalized(self, job: StoredJob) -> str:
        return moment(job.finalized_at)

    @admin.display(description="last retry")
    def last_retry(self, job: StoredJob) -> str:
        return moment(job.last_retry_at)

    @admin.display(description="assigned")
    def assigned(self, job: StoredJob) -> str:
        return moment(job.assigned_at)

    @admin.display(description="lease ends")
    def lease(self, job: StoredJob) -> str:
        return moment(job.lease_until)

    @admin.display(description="definition")
    def defined(self, job: StoredJob) -> Any:
        return pretty(indented(bytes(job.definition)))

    @admin.display(description="result")
    def came_out(self, job: StoredJob) -> Any:
        return pretty(indented(bytes(job.result or b"")))

    @admin.action(description="Try once more", permissions=["act"])
    def retry_selected(self, request: HttpRequest, rows: Any) -> None:
        self.act_on_selected(request, rows, VERBS[0])
