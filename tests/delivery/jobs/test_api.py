"""Jobs over REST."""

import base64

import pytest

from delivery.jobs import NewJob, Queue, State
from delivery.jobs.queues import create_queue
from delivery.models import JobQueue
from tests.clients import ApiClient, problem
from tests.delivery.jobs.conftest import job_in


@pytest.fixture
def queue(api: ApiClient, application) -> str:
    answer = api.post("/job_queues/", {"application_id": application.id, "name": "thumbnails"})
    assert answer.status_code == 201
    return f"/job_queues/{answer.json()['job_queue_id']}"


def of(queue: str) -> Queue:
    return Queue(JobQueue.objects.get(pk=queue.rpartition("/")[2]))


def ids(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return [job["id"] for job in (body["jobs"] if isinstance(body, dict) else body)]


def test_a_job_goes_its_way(api: ApiClient, queue):
    job = {"id": "photo 1", "type": "resize", "definition": {"width": 320}, "tags": ["eu", "gpu"]}
    answer = api.post(f"{queue}/jobs/", {"jobs": [job]})
    assert (answer.status_code, answer.json()) == (201, {"ids": ["photo 1"]})
    assert ids(api.post(f"{queue}/claim/", {"assignee": "w", "tags": ["other"]})) == []
    (claimed,) = api.post(f"{queue}/claim/", {"assignee": "w", "tags": ["gpu"]}).json()["jobs"]
    assert claimed.items() >= {**job, "status": "RUNNING", "assignee": "w", "definition_base64": None}.items()
    answer = api.post(f"{queue}/jobs/photo 1/progress/", {"percent": 40, "stage": "reading"})
    assert answer.json() == {"id": "photo 1", "status": "RUNNING"}
    answer = api.post(f"{queue}/jobs/photo 1/complete/", {"result": [1, None]})
    assert answer.json() == {"id": "photo 1", "status": "COMPLETED"}
    done = api.get(f"{queue}/jobs/photo 1/").json()
    assert (done["status"], done["result"], done["percent"], done["stage"]) == ("COMPLETED", [1, None], 100, "reading")


def test_what_is_not_json_comes_in_base64(api: ApiClient, queue):
    raw = base64.b64encode(b"\x00\xff").decode()
    api.post(f"{queue}/jobs/", {"jobs": [{"id": "a", "definition_base64": raw}]})
    job = api.get(f"{queue}/jobs/a/").json()
    assert (job["definition"], job["definition_base64"]) == (None, raw)
    both = {"id": "b", "definition": 1, "definition_base64": raw}
    assert "definition" in problem(api.post(f"{queue}/jobs/", {"jobs": [both]}), 422, "Validation")["validation"]
    bad = {"id": "b", "definition_base64": "?"}
    problem(api.post(f"{queue}/jobs/", {"jobs": [bad]}), 422, "Validation")
    problem(api.post(f"{queue}/jobs/", {"jobs": [{"id": "b", "definition": "\ud800"}]}), 422, "Validation")


def test_ids_are_taken_once_and_a_batch_is_all_or_none(api: ApiClient, queue):
    api.post(f"{queue}/jobs/", {"jobs": [{"id": "a"}]})
    refused = problem(api.post(f"{queue}/jobs/", {"jobs": [{"id": "b"}, {"id": "a"}]}), 409, "JobAlreadyExists")
    assert "'a'" in refused["detail"]
    assert ids(api.get(f"{queue}/jobs/")) == ["a"]


VERBS = {
    "complete": ({}, "COMPLETED"),
    "fail": ({"error": "no"}, "FAILED_RETRY"),
    "stop": ({}, "STOPPED"),
    "mark_unknown_stopped": ({"error": "gone"}, "UNKNOWN_STOPPED"),
    "progress": ({}, "RUNNING"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_said_of_a_running_job(api: ApiClient, queue, verb):
    body, becomes = VERBS[verb]
    job = job_in(of(queue), State.RUNNING)
    assert api.post(f"{queue}/jobs/{job}/{verb}/", body).json() == {"id": job, "status": becomes}
    if verb != "progress":
        refused = problem(api.post(f"{queue}/jobs/{job}/{verb}/", body), 409, "JobConflict")
        assert becomes in refused["detail"]
    problem(api.post(f"{queue}/jobs/nobody/{verb}/", body), 404, "NotFound")


@pytest.mark.parametrize(
    ("verb", "body", "becomes"),
    [
        ("acknowledge_cancellation", {"was_executing": True}, "STOPPED"),
        ("acknowledge_cancellation", {"was_executing": False}, "UNKNOWN_STOPPED"),
        ("stop_with_retry", {"error": "no"}, "STOPPED"),
    ],
)
def test_what_is_said_of_a_job_that_is_being_cancelled(api: ApiClient, queue, verb, body, becomes):
    job = job_in(of(queue), State.CANCELLING)
    assert api.post(f"{queue}/jobs/{job}/{verb}/", body).json()["status"] == becomes
    problem(api.post(f"{queue}/jobs/{job}/{verb}/", body), 409, "JobConflict")


def test_many_jobs_at_once(api: ApiClient, queue):
    running, waiting = job_in(of(queue), State.RUNNING, tags=["x"]), job_in(of(queue), State.INITIAL_PENDING)
    answer = api.post(f"{queue}/cancel/", {"tags": ["x"], "ids": [waiting, "nobody"]})
    assert set(answer.json()["cancelled"]) == {running, waiting}
    assert answer.json()["unknown"] == ["nobody"]
    problem(api.post(f"{queue}/delete_jobs/", {"tags": ["x"]}), 409, "JobConflict")
    api.post(f"{queue}/mark_worker_unresponsive/", {"assignee": running})
    assert api.post(f"{queue}/delete_jobs/", {"tags": ["x"], "ids": [waiting]}).json() == {"jobs": 2}
    job_in(of(queue), State.RUNNING)
    assert api.post(f"{queue}/reset_running/").json() == {"jobs": 1}
    assert api.get(f"{queue}/stats/").json()["failed_jobs"] == 1
    assert api.get(f"{queue}/stats/", tags=["x"]).json()["total_jobs"] == 0
    assert api.post(f"{queue}/clean_up/", {"older_than_seconds": 60}).json() == {"jobs": 0}
    for verb in ("cancel", "delete_jobs"):
        problem(api.post(f"{queue}/{verb}/", {}), 422, "Validation")


def test_jobs_are_listed_newest_first_by_state_and_tags_in_pages(api: ApiClient, queue):
    for number in range(5):
        of(queue).enqueue(NewJob(f"job {number}", tags=["even" if number % 2 == 0 else "odd", "a,b"]))
    of(queue).cancel(ids=["job 2"])
    first = api.get(f"{queue}/jobs/", limit=2)
    assert ids(first) == ["job 4", "job 3"]
    address = first["Link"].partition(">")[0].partition("/api/v1")[2]
    assert ids(api.get(address)) == ["job 2", "job 1"]
    assert ids(api.get(f"{queue}/jobs/", tags=["even", "a,b"])) == ["job 4", "job 2", "job 0"]
    assert ids(api.get(f"{queue}/jobs/", tags="even", status="UNSCHEDULED")) == ["job 2"]
    problem(api.get(f"{queue}/jobs/", status="pending"), 422, "Validation")


def test_a_fifo_queue_over_rest(api: ApiClient, application):
    body = {"application_id": application.id, "name": "orders", "is_fifo": True, "retry_limit": 0}
    queue = f"/job_queues/{api.post('/job_queues/', body).json()['job_queue_id']}"
    refused = problem(api.post(f"{queue}/jobs/", {"jobs": [{"id": "a"}]}), 422, "Validation")
    assert "needs a key" in str(refused["validation"]["key"])
    api.post(f"{queue}/jobs/", {"jobs": [{"id": "a", "key": "order 1"}, {"id": "b", "key": "order 1"}]})
    assert ids(api.post(f"{queue}/claim/", {"assignee": "w"})) == ["a"]
    assert api.post(f"{queue}/jobs/a/fail/", {"error": "no"}).json()["status"] == "EXHAUSTED"
    (blocked,) = api.get(f"{queue}/blocked_keys/").json()
    assert (blocked["key"], blocked["job_id"], blocked["error"]) == ("order 1", "a", "no")
    assert api.post(f"{queue}/jobs/a/retry/").json()["status"] == "FAILED_RETRY"
    assert ids(api.post(f"{queue}/claim/", {"assignee": "w"})) == ["a"]
    api.post(f"{queue}/jobs/a/fail/", {"error": "no"})
    assert api.post(f"{queue}/delete_jobs/", {"ids": ["a"]}).json() == {"jobs": 1}
    assert ids(api.post(f"{queue}/claim/", {"assignee": "w"})) == ["b"]
    assert api.get(f"{queue}/blocked_keys/").json() == []


def test_queues_are_made_changed_and_deleted(api: ApiClient, application, queue):
    fields = {"application_id": application.id, "name": "thumbnails"}
    problem(api.post("/job_queues/", fields), 409, "JobQueueConflict")
    create_queue(application.id, "another")
    assert [each["name"] for each in api.get("/job_queues/", application_id=application.id).json()] == [
        "another", "thumbnails",
    ]  # fmt: skip
    found = api.get("/job_queues/", application_id=application.id, name="thumbnails").json()
    assert [each["name"] for each in found] == ["thumbnails"]
    problem(api.put(f"{queue}/", {"name": "another"}), 409, "JobQueueConflict")
    changed = api.put(f"{queue}/", {"name": "pictures", "lease_seconds": 60, "is_fifo": True}).json()
    assert (changed["name"], changed["lease_seconds"], changed["is_fifo"]) == ("pictures", 60, False)
    job = job_in(of(queue), State.INITIAL_PENDING)
    problem(api.delete(f"{queue}/"), 409, "JobQueueConflict")
    of(queue).cancel(ids=[job])
    assert api.delete(f"{queue}/").status_code == 204
    problem(api.get(f"{queue}/"), 404, "NotFound")
