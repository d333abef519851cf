"""Where a job stands, and what may follow what: the one definition, for SQL, the documents and the tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    INITIAL_PENDING = "INITIAL_PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED_RETRY = "FAILED_RETRY"
    STOPPED = "STOPPED"
    UNSCHEDULED = "UNSCHEDULED"
    UNKNOWN_RETRY = "UNKNOWN_RETRY"
    CANCELLING = "CANCELLING"
    UNKNOWN_STOPPED = "UNKNOWN_STOPPED"
    EXHAUSTED = "EXHAUSTED"  # has used up its retries, in a queue that limits them


ELIGIBLE = (State.INITIAL_PENDING, State.FAILED_RETRY, State.UNKNOWN_RETRY)
ASSIGNED = (State.RUNNING, State.CANCELLING)
FINAL = (State.COMPLETED, State.STOPPED, State.UNSCHEDULED, State.UNKNOWN_STOPPED)
ENDED = (*FINAL, State.EXHAUSTED)  # nothing happens to them by itself, and they can be deleted
HOLDING = tuple(state for state in State if state not in (State.INITIAL_PENDING, *FINAL))  # the turn of their key


@dataclass(frozen=True)
class Step:
    """What a transition does beside setting the state."""

    to: State
    frees: bool = False  # a place in the stream that the job was assigned to
    retries: bool = False  # counts a retry
    unless_exhausted: bool = False  # it is EXHAUSTED instead where no retry is left


@dataclass(frozen=True)
class Operation:
    """What somebody does to jobs, and from which states; in any other it is refused."""

    verb: str  # as of: the job cannot be ...
    steps: Mapping[State, Step]


_RETRY = Step(State.FAILED_RETRY, frees=True, retries=True, unless_exhausted=True)
_LOST = {
    State.RUNNING: Step(State.UNKNOWN_RETRY, frees=True),
    State.CANCELLING: Step(State.UNKNOWN_STOPPED, frees=True),
}

COMPLETE = Operation(
    "completed",
    {
        state: Step(State.COMPLETED, frees=True)
        for state in (State.RUNNING, State.CANCELLING, State.UNKNOWN_RETRY, State.UNKNOWN_STOPPED)
    },
)
FAIL = Operation("failed", dict.fromkeys((State.RUNNING, State.UNKNOWN_RETRY), _RETRY))
STOP = Operation(
    "stopped",
    dict.fromkeys((State.RUNNING, State.CANCELLING, State.UNKNOWN_RETRY), Step(State.STOPPED, frees=True)),
)
STOP_WITH_RETRY = Operation("stopped with a retry", {State.CANCELLING: Step(State.STOPPED, frees=True, retries=True)})
MARK_UNKNOWN_STOPPED = Operation(
    "marked as stopped for all one knows",
    dict.fromkeys((State.RUNNING, State.CANCELLING, State.UNKNOWN_RETRY), Step(State.UNKNOWN_STOPPED, frees=True)),
)
CANCEL = Operation(
    "cancelled",
    {
        State.INITIAL_PENDING: Step(State.UNSCHEDULED),
        State.RUNNING: Step(State.CANCELLING),
        State.CANCELLING: Step(State.CANCELLING),
        State.FAILED_RETRY: Step(State.STOPPED),
        State.UNKNOWN_RETRY: Step(State.STOPPED),
    },
)
ACKNOWLEDGE_EXECUTING = Operation("acknowledged as cancelled", {State.CANCELLING: Step(State.STOPPED, frees=True)})
# Who was not executing it held no place for it, so none is freed.
ACKNOWLEDGE_NOT_EXECUTING = Operation("acknowledged as cancelled", {State.CANCELLING: Step(State.UNKNOWN_STOPPED)})
MARK_WORKER_UNRESPONSIVE = Operation("taken from its worker", _LOST)
RESET_RUNNING = Operation("reset", _LOST)
LAPSE = Operation(
    "taken back at the end of its lease",
    {**_LOST, State.RUNNING: Step(State.UNKNOWN_RETRY, frees=True, retries=True, unless_exhausted=True)},
)
# Assigned to a stream that ended before it was handed out: nobody tried it, so it costs no retry.
GIVE_BACK = Operation(
    "given back",
    {
        State.RUNNING: Step(State.FAILED_RETRY, frees=True),
        State.CANCELLING: Step(State.STOPPED, frees=True),
    },
)
RETRY = Operation("retried", {State.EXHAUSTED: Step(State.FAILED_RETRY, retries=True)})
REPORT = Operation("reported on", {state: Step(state) for state in ASSIGNED})

ASSIGN = Operation("assigned", dict.fromkeys(ELIGIBLE, Step(State.RUNNING)))  # claim.sql
DELETE = ENDED  # delete.sql

OPERATIONS = {  # as the documents call them
    "claim": ASSIGN,
    "progress": REPORT,
    "complete": COMPLETE,
    "fail": FAIL,
    "stop": STOP,
    "stop_with_retry": STOP_WITH_RETRY,
    "mark_unknown_stopped": MARK_UNKNOWN_STOPPED,
    "cancel": CANCEL,
    "acknowledge_cancellation, was executing": ACKNOWLEDGE_EXECUTING,
    "acknowledge_cancellation, was not": ACKNOWLEDGE_NOT_EXECUTING,
    "mark_worker_unresponsive": MARK_WORKER_UNRESPONSIVE,
    "reset_running": RESET_RUNNING,
    "a lease ends": LAPSE,
    "a stream ends": GIVE_BACK,
    "retry": RETRY,
}
