"""Jobs as operators see them."""

from django.urls import reverse

from delivery.jobs import Queue, State
from delivery.jobs.models import StoredJob
from delivery.models import JobQueue, OperatorAction


def test_a_blocked_key_is_found_and_let_go_on(operator, scene):
    queue = JobQueue.objects.get(application=scene)
    job = StoredJob.objects.get(queue=queue)
    page = operator.get(reverse("admin:delivery_jobqueue_change", args=[queue.pk])).content.decode()
    jobs = f"{reverse('admin:delivery_storedjob_changelist')}?queue__id__exact={queue.pk}"
    assert jobs in page
    assert "blocks" in operator.get(f"{jobs}&status__exact=EXHAUSTED").content.decode()
    assert "blocks" not in operator.get(f"{jobs}&status__exact=RUNNING").content.decode()
    one = operator.get(reverse("admin:delivery_storedjob_change", args=[job.pk])).content.decode()
    assert "&lt;b&gt;no&lt;/b&gt;" in one
    assert "&quot;width&quot;: 320" in one
    address = reverse("admin:delivery_storedjob_verb", args=[job.pk, "retry"])
    assert operator.post(address, {"reason": "the address is known now"}).status_code == 302
    assert Queue(queue).get("blocks").status == State.FAILED_RETRY
    done = OperatorAction.objects.latest("id")
    assert (done.actor, done.action, done.application_id) == ("olga", "retry_job", scene.pk)
    refused = operator.post(address, {"reason": "again"})
    assert "FAILED_RETRY" in refused.content.decode()
    assert (
        operator.post(
            reverse("admin:delivery_storedjob_verb", args=[job.pk, "cancel"]), {"reason": "not wanted"}
        ).status_code
        == 302
    )
    assert Queue(queue).get("blocks").status == State.STOPPED
    delete = reverse("admin:delivery_storedjob_verb", args=[job.pk, "delete"])
    assert operator.post(delete, {"reason": "not wanted"}).status_code == 302
    assert not StoredJob.objects.exists()


def test_jobs_are_listed_for_a_queue(operator, scene):
    answer = operator.get(reverse("admin:delivery_storedjob_changelist"))
    assert answer.url == reverse("admin:delivery_jobqueue_changelist")
