from tenants.problems import Problem


class LaneConflict(Problem):
    is_hook0s = False
    status_code = 409
    title = "The lane cannot do that now"
    default_detail = "The lane is not in a state for this."


class AttemptConflict(Problem):
    status_code = 409
    is_hook0s = False
    title = "This attempt cannot be retried now"
    default_detail = "Its delivery is not in a state for this."


class TooManyTests(Problem):
    is_hook0s = False
    status_code = 429
    title = "Too many tests at a time"
    default_detail = "Others are being sent right now, and their endpoints take their time. Try again in a moment."
    wait = 1  # seconds, in `Retry-After`


class JobConflict(Problem):
    """`state` is the one that the job is in."""

    is_hook0s = False
    status_code = 409
    title = "The job is not in a state for this"
    default_detail = "The state of the job does not allow it."

    def __init__(self, detail: str | None = None, *, state: str | None = None) -> None:
        super().__init__(detail)
        self.state = state


class JobAlreadyExists(Problem):
    is_hook0s = False
    status_code = 409
    title = "There is a job with this id"
    default_detail = "The queue has a job with this id. Take another, or delete that one when it is over."


class JobQueueConflict(Problem):
    is_hook0s = False
    status_code = 409
    title = "The queue does not allow this"
    default_detail = "Another queue has this name, or jobs of this one are not over."


class StreamIsElsewhere(Problem):
    is_hook0s = False
    status_code = 421
    title = "Streams are served elsewhere"
    default_detail = (
        "This server does not serve streams: connect to the `stream_url` of the subscription's target, or of the queue."
    )
