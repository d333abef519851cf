"""The pages of the admin, over tables that are large."""

from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.urls import reverse

from delivery.jobs.queues import create_queue
from delivery.models import AttemptLog, DeadLetter, JobQueue, Lane, RequestAttempt
from delivery.tallies import count_tries
from events.models import Event, Undelivered
from hook0.desk.health import HEALTHS
from subscriptions.models import Subscription
from tests.factories import make_application, make_fifo, make_subscription

LARGE = (
    "attempt_log", "request_attempt", "event", "fifo_subscription_state", "dead_letter", "operator_action",
    "undelivered", "job",
)  # fmt: skip
FILL = [
    """
    INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata,
                       occurred_at, received_at)
    SELECT gen_random_uuid(), %(application)s, 'billing.invoice.paid', 'x', 'text/plain', '{"shop": "1"}', '{}', now(),
           now() - n * interval '1 s'
      FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, try_number, succeeded,
                             accepted, error_name, http_status, elapsed_ms, created_at, due_at, picked_at, ended_at)
    SELECT new_delivery_id(), new_delivery_id(), e.id, %(loose)s, %(application)s, 1, e.id %% 10 <> 0, true,
           CASE WHEN e.id %% 10 = 0 THEN 'E_HTTP' END, CASE WHEN e.id %% 10 = 0 THEN 500 ELSE 200 END, e.id %% 300,
           now(), now(), now(), now() + interval '1 min' - (e.id %% 300) * interval '1 min'
      FROM event e
    """,
    """
    INSERT INTO fifo_subscription_state (subscription_id, key, tail_seq, phase, ready_at, since)
    SELECT %(fifo)s, 'key ' || n, 1, CASE WHEN n %% 100 = 0 THEN 3 ELSE 1 END,
           CASE WHEN n %% 100 <> 0 THEN now() END, CASE WHEN n %% 100 = 0 THEN now() - n * interval '1 s' END
      FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO request_attempt (id, event_id, subscription_id, lane_id, lane_seq, due_at)
    SELECT new_delivery_id(), first.event + lane.id - first.lane, %(fifo)s, lane.id, 1, now()
      FROM fifo_subscription_state lane,
           (SELECT (SELECT min(id) FROM event), (SELECT min(id) FROM fifo_subscription_state)) AS first (event, lane)
    """,
    """
    INSERT INTO dead_letter (id, event_id, subscription_id, reason, tries, created_at, died_at)
    SELECT gen_random_uuid(), e.id, %(loose)s, 'exhausted', 3, now(), now() - e.id * interval '1 s' FROM event e
     WHERE e.id %% 20 = 0
    """,
    """
    INSERT INTO undelivered (application_id, path, event_id, event_type, payload, payload_content_type,
                             subscription_id, reason)
    SELECT application_id, ARRAY['failed', id::text], event_id, event_type, payload, payload_content_type, %(loose)s,
           'exhausted'
      FROM event
    """,
    """
    INSERT INTO job (queue_id, job_id, status, type, definition, tags, has_turn, priority)
    SELECT %(queue)s, n, CASE WHEN n %% 3 = 0 THEN 'INITIAL_PENDING' ELSE 'COMPLETED' END, '', '', '{}', true, 100
      FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO operator_action (actor, action, reason, application_id, subscription_id, details)
    SELECT 'somebody', 'skip', '', %(application)s, %(loose)s, '{}' FROM generate_series(1, %(rows)s)
    """,
]


ROWS_IN = 100  # the lane that is looked for


def fill(rows: int) -> None:
    """So many events of one application, each with a try that ended, a lane in which something waits, and an action."""
    application = make_application()
    loose, fifo = make_subscription(application), make_fifo(application, fifo_key="ordering_key")
    given: dict[str, Any] = {"application": application.pk, "loose": loose.pk, "fifo": fifo.pk, "rows": rows}
    given["queue"] = create_queue(application.pk, "jobs").pk
    with connection.cursor() as cursor:
        for sql in FILL:
            cursor.execute(sql, given)
        count_tries()
        for table in LARGE:
            cursor.execute(f"VACUUM ANALYZE {table}")


def addresses() -> Iterator[tuple[str, str]]:
    """The pages over what has been filled in, by their names."""
    yield "home", reverse("admin:index")
    for model in (Subscription, Lane, Event, AttemptLog, DeadLetter, Undelivered):
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        last = model._default_manager.latest("ended_at" if model is AttemptLog else "pk")
        yield f"{model.__name__} list", reverse(f"{name}_changelist")
        yield model.__name__, reverse(f"{name}_change", args=[last.pk])
    for health in HEALTHS:
        yield f"subscriptions: {health}", reverse("admin:subscriptions_subscription_changelist") + f"?health={health}"
    yield "stuck lanes", reverse("admin:delivery_lane_changelist") + "?standing=stuck"
    yield "blocked lanes", reverse("admin:delivery_lane_changelist") + "?phase__exact=3"
    fifo = Subscription.objects.get(fifo_mode=True)
    yield "a FIFO subscription", reverse("admin:subscriptions_subscription_change", args=[fifo.pk])
    of_loose = f"?subscription={Subscription.objects.get(fifo_mode=False).pk}"
    for name, query in {"lanes of one": f"?subscription={fifo.pk}", "no lanes": of_loose}.items():
        yield name, reverse("admin:delivery_lane_changelist") + query
    yield "a lane by its key", reverse("admin:delivery_lane_changelist") + "?q=key+77"
    yield "failed attempts", reverse("admin:delivery_attemptlog_changelist") + "?status=failed"
    yield (
        "a pending delivery",
        reverse("admin:delivery_requestattempt_change", args=[RequestAttempt.objects.first().pk]),
    )
    yield "events of an hour", reverse("admin:events_event_changelist") + "?received=hour"
    events = reverse("admin:events_event_changelist")
    for term in ("shop:1", "shop:2", "billing.*", "shipping.*", "billing.invoice.paid", "shipping.order.sent"):
        yield f"events: {term}", f"{events}?q={term}"
    attempts = reverse("admin:delivery_attemptlog_changelist")
    lane = Lane.objects.order_by("pk")[ROWS_IN]
    for query in (
        "labels=shop:1", "labels=shop:2", "event_type=shipping.order.sent", "event_type=shipping.*", "http_status=503",
        "error_name=E_TIMEOUT", f"lane_id={lane.pk}", "status=failed&labels=shop:2", "status=successful&labels=shop:2",
    ):  # fmt: skip
        yield f"attempts: {query}", f"{attempts}?{query}"
        yield f"attempts of one: {query}", f"{attempts}?{query}&subscription_id={fifo.pk}"
    yield "a job queue", reverse("admin:delivery_jobqueue_change", args=[JobQueue.objects.get().pk])
    yield "jobs", reverse("admin:delivery_storedjob_changelist") + f"?queue__id__exact={JobQueue.objects.get().pk}"
    yield "an event by its id", reverse("admin:events_event_changelist") + f"?q={Event.objects.first().event_id}"
    yield "keys by their prefix", reverse("admin:events_undelivered_changelist") + "?q=failed/77"
    yield "search by id", reverse("admin:search") + f"?extended=1&s={Event.objects.first().event_id}"
    for kind, name in {"name": "key+77", "job": "4711", "key": "failed/77"}.items():
        yield f"search by {kind}", reverse("admin:search") + f"?extended=1&s={name}"
    yield "what was done", reverse("admin:delivery_operatoraction_changelist")
