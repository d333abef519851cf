"""A job queue in plain Python, after the documents: what `delivery.jobs` is compared with."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from delivery.jobs import NewJob, State
from tests.delivery.jobs.test_states import CELLS, FINAL

ELIGIBLE = {State.INITIAL_PENDING, State.FAILED_RETRY, State.UNKNOWN_RETRY}
ASSIGNED = {State.RUNNING, State.CANCELLING}
LOST = {State.RUNNING: State.UNKNOWN_RETRY, State.CANCELLING: State.UNKNOWN_STOPPED}
GIVEN_BACK = {State.RUNNING: State.FAILED_RETRY, State.CANCELLING: State.STOPPED}


@dataclass
class Known:
    """What is known of a job. Its number says when it was enqueued, and `since` how long it has waited."""

    id: str
    number: int
    since: int
    tags: frozenset[str]
    key: str | None
    priority: int
    limit: int | None
    status: State = State.INITIAL_PENDING
    retries: int = 0
    assignee: str | None = None
    place: object = None  # the stream in which it holds one


class Oracle:
    """Time is a count of what was said."""

    def __init__(self) -> None:
        self.jobs: dict[str, Known] = {}
        self._now = 0

    def enqueue(self, jobs: Iterable[NewJob]) -> None:
        self._now += 1
        for job in jobs:
            number = max((each.number for each in self.jobs.values()), default=0) + 1
            self.jobs[job.id] = Known(
                job.id, number, self._now, frozenset(job.tags), job.key, job.priority, job.retry_limit
            )

    def having(self, tags: Collection[str]) -> list[Known]:
        return [job for job in self.jobs.values() if job.tags >= set(tags)]

    def eligible(self, tags: Collection[str]) -> list[Known]:
        """In the order in which they are assigned."""
        waiting = [job for job in self.having(tags) if job.status in ELIGIBLE and self._is_first_of_its_key(job)]
        return sorted(waiting, key=lambda job: (-job.priority, job.since, job.number))

    def assign(self, assignee: str, tags: Collection[str], most: int, place: object = None) -> list[str]:
        taken = self.taken(place) if place else 0
        chosen = self.eligible(tags)[: most - taken]
        for job in chosen:
            job.status, job.assignee, job.place = State.RUNNING, assignee, place
        return [job.id for job in chosen]

    def taken(self, place: object) -> int:
        return sum(job.place == place for job in self.jobs.values())

    def move(self, operation: str, job: Known) -> str:
        """What the operation makes of the job; a dot: it is refused, and a dash: it leaves it alone."""
        becomes = CELLS[operation, job.status]
        if becomes in {".", "-"}:
            return becomes
        return self._becomes(
            job,
            State(becomes),
            counts=operation in {"fail", "stop_with_retry", "retry"},
            stays=operation == "ack_not_there",
        )

    def retry(self, job: Known) -> str:
        if job.status == State.EXHAUSTED:
            assert job.limit is not None
            job.limit += 1
        return self.move("retry", job)

    def lapse(self, job: Known) -> str:
        return self._becomes(job, LOST[job.status], counts=job.status == State.RUNNING)

    def give_back(self, ids: Iterable[str], place: object) -> None:
        for job in [self.jobs[each] for each in ids if each in self.jobs]:
            if job.place == place and job.status in GIVEN_BACK:
                self._becomes(job, GIVEN_BACK[job.status])

    def delete(self, ids: Iterable[str]) -> None:
        for each in ids:
            del self.jobs[each]

    def blocked_keys(self) -> list[str | None]:
        return [job.key for job in self.jobs.values() if job.key and job.status == State.EXHAUSTED]

    def statistics(self, tags: Sequence[str]) -> tuple[int, ...]:
        """Total, pending, running, completed, stopped, failed, retries."""
        jobs = self.having(tags)
        by = Counter(job.status for job in jobs)
        return (
            len(jobs),
            by[State.INITIAL_PENDING],
            sum(by[state] for state in ASSIGNED),
            by[State.COMPLETED],
            sum(by[state] for state in FINAL - {State.COMPLETED}),
            by[State.FAILED_RETRY] + by[State.UNKNOWN_RETRY] + by[State.EXHAUSTED],
            sum(job.retries for job in jobs),
        )

    def _becomes(self, job: Known, state: State, *, counts: bool = False, stays: bool = False) -> State:
        self._now += 1
        if counts and state in ELIGIBLE and job.limit is not None and job.retries >= job.limit:
            state = State.EXHAUSTED
        elif counts:
            job.retries += 1
            job.since = self._now
        if state not in ASSIGNED and not stays:
            job.place = None
        job.status = state
        return state

    def _is_first_of_its_key(self, job: Known) -> bool:
        """Of those that are not over: who was enqueued first holds the key."""
        return job.key is None or not any(
            each.key == job.key and each.number < job.number and each.status not in FINAL for each in self.jobs.values()
        )
