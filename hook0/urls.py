from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from delivery import reconfigure
from delivery.api.blocked_lanes import RetryBlockedView
from delivery.api.dead_letters import (
    DeadLetterRequeueView,
    DeadLetterStatsView,
    DeadLettersView,
    DeadLetterView,
)
from delivery.api.deliveries import CancelView, DeliveryStatsView
from delivery.api.job_queue_verbs import (
    BlockedKeysView,
    ClaimView,
    CleanUpView,
    JobCancelView,
    JobDeleteView,
    JobStatisticsView,
    MarkWorkerUnresponsiveView,
    ResetRunningView,
)
from delivery.api.job_queues import JobQueuesView, JobQueueView
from delivery.api.job_stream import JobStreamView
from delivery.api.jobs import (
    AcknowledgeCancellationView,
    CompleteView,
    FailView,
    JobProgressView,
    JobRetryView,
    JobsView,
    JobView,
    MarkUnknownStoppedView,
    StopView,
    StopWithRetryView,
)
from delivery.api.lanes import (
    LanePauseView,
    LanePurgeView,
    LaneResetView,
    LaneResumeView,
    LaneRetryView,
    LaneSkipToView,
    LaneSkipView,
    LanesView,
    LaneView,
)
from delivery.api.operator_actions import OperatorActionsView
from delivery.api.pull import AckView, ExtendView, NackView, PollView, ProgressView
from delivery.api.request_attempts import RequestAttemptsView, RequestAttemptView, ResponseView, RetryView
from delivery.api.signing_secrets import RotateSecretView
from delivery.api.stream import StreamView
from events.api.bulk_loads import (
    BulkLoadCancelView,
    BulkLoadPauseView,
    BulkLoadResumeView,
    BulkLoadsView,
    BulkLoadView,
)
from events.api.event import EventView
from events.api.events import EventsView, OneEventView, ReplayEventView
from events.api.events_per_day import ApplicationEventsPerDayView, OrganizationEventsPerDayView
from events.api.keys import KeysView, KeyView
from events.api.payload_content_types import PayloadContentTypesView
from events.api.replays import ReplaysView, ReplayView
from events.api.trials import SubscriptionTestView
from events.usage import usage_of
from hook0.api import AnyOtherView, EnvironmentVariablesView, ErrorsView, InstanceView
from hook0.openapi import SchemaView, TryView
from monitoring.api import HealthView
from monitoring.readiness import livez, readyz
from subscriptions.api.views import SubscriptionsView, SubscriptionView
from tenants.api.application_secrets import ApplicationSecretsView, ApplicationSecretView
from tenants.api.applications import ApplicationsView, ApplicationView
from tenants.api.event_types import EventTypesView, EventTypeView
from tenants.api.organizations import OrganizationsView, OrganizationView
from tenants.api.quotas import QuotasView
from tenants.api.service_tokens import ServiceTokensView, ServiceTokenView

api = [
    path("event/", EventView.as_view()),  # the busiest first: addresses are tried in turn
    path("instance/", InstanceView.as_view()),
    path("swagger.json/", SchemaView.as_view(), name="openapi"),
    path("docs/", TryView.as_view()),
    path("errors/", ErrorsView.as_view()),
    path("environment_variables/", EnvironmentVariablesView.as_view()),
    path("health/", HealthView.as_view()),
    path("quotas/", QuotasView.as_view()),
    path("organizations/", OrganizationsView.as_view()),
    path("organizations/<uuid:organization_id>/", OrganizationView.as_view(usage_of=usage_of)),
    path("service_token/", ServiceTokensView.as_view()),
    path("service_token/<uuid:token_id>/", ServiceTokenView.as_view()),
    path("applications/", ApplicationsView.as_view()),
    path(
        "applications/<uuid:application_id>/",
        ApplicationView.as_view(usage_of=usage_of, delete_subscriptions=reconfigure.delete_all),
    ),
    path("application_secrets/", ApplicationSecretsView.as_view()),
    path("application_secrets/<uuid:token>/", ApplicationSecretView.as_view()),
    path("payload_content_types/", PayloadContentTypesView.as_view()),
    path("events/", EventsView.as_view()),
    path("events/<uuid:event_id>/", OneEventView.as_view()),
    path("events/<uuid:event_id>/replay/", ReplayEventView.as_view()),
    path("events_per_day/application/", ApplicationEventsPerDayView.as_view()),
    path("events_per_day/organization/", OrganizationEventsPerDayView.as_view()),
    path("request_attempts/", RequestAttemptsView.as_view()),
    path("request_attempts/<uuid:request_attempt_id>/", RequestAttemptView.as_view()),
    path("request_attempts/<uuid:request_attempt_id>/retry/", RetryView.as_view()),
    path("responses/<uuid:response_id>/", ResponseView.as_view()),
    path("event_types/", EventTypesView.as_view()),
    path("event_types/<path:name>/", EventTypeView.as_view()),
    path("subscriptions/", SubscriptionsView.as_view()),
    path(
        "subscriptions/<uuid:subscription_id>/",
        SubscriptionView.as_view(edit=reconfigure.edit, remove=reconfigure.delete),
    ),
    path("subscriptions/<uuid:subscription_id>/test/", SubscriptionTestView.as_view()),
    path("subscriptions/<uuid:subscription_id>/rotate_secret/", RotateSecretView.as_view()),
    path("subscriptions/<uuid:subscription_id>/retry_blocked/", RetryBlockedView.as_view()),
    path("subscriptions/<uuid:subscription_id>/poll/", PollView.as_view()),
    path("subscriptions/<uuid:subscription_id>/stream/", StreamView.as_view()),
    path("lanes/", LanesView.as_view()),
    path("lanes/<int:lane_id>/", LaneView.as_view()),
    path("lanes/<int:lane_id>/retry/", LaneRetryView.as_view()),
    path("lanes/<int:lane_id>/skip/", LaneSkipView.as_view()),
    path("lanes/<int:lane_id>/skip_to/", LaneSkipToView.as_view()),
    path("lanes/<int:lane_id>/pause/", LanePauseView.as_view()),
    path("lanes/<int:lane_id>/resume/", LaneResumeView.as_view()),
    path("lanes/<int:lane_id>/reset/", LaneResetView.as_view()),
    path("lanes/<int:lane_id>/purge/", LanePurgeView.as_view()),
    path("dead_letters/", DeadLettersView.as_view()),
    path("dead_letters/stats/", DeadLetterStatsView.as_view()),
    path("dead_letters/<uuid:dead_letter_id>/", DeadLetterView.as_view()),
    path("dead_letters/<uuid:dead_letter_id>/requeue/", DeadLetterRequeueView.as_view()),
    path("deliveries/cancel/", CancelView.as_view()),
    path("deliveries/stats/", DeliveryStatsView.as_view()),
    path("deliveries/ack/", AckView.as_view()),
    path("deliveries/nack/", NackView.as_view()),
    path("deliveries/extend/", ExtendView.as_view()),
    path("job_queues/", JobQueuesView.as_view()),
    path("job_queues/<uuid:job_queue_id>/", JobQueueView.as_view()),
    path("job_queues/<uuid:job_queue_id>/claim/", ClaimView.as_view()),
    path("job_queues/<uuid:job_queue_id>/cancel/", JobCancelView.as_view()),
    path("job_queues/<uuid:job_queue_id>/delete_jobs/", JobDeleteView.as_view()),
    path("job_queues/<uuid:job_queue_id>/mark_worker_unresponsive/", MarkWorkerUnresponsiveView.as_view()),
    path("job_queues/<uuid:job_queue_id>/reset_running/", ResetRunningView.as_view()),
    path("job_queues/<uuid:job_queue_id>/clean_up/", CleanUpView.as_view()),
    path("job_queues/<uuid:job_queue_id>/stats/", JobStatisticsView.as_view()),
    path("job_queues/<uuid:job_queue_id>/blocked_keys/", BlockedKeysView.as_view()),
    path("job_queues/<uuid:job_queue_id>/stream/", JobStreamView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/", JobsView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/", JobView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/complete/", CompleteView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/fail/", FailView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/stop/", StopView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/stop_with_retry/", StopWithRetryView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/mark_unknown_stopped/", MarkUnknownStoppedView.as_view()),
    path(
        "job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/acknowledge_cancellation/",
        AcknowledgeCancellationView.as_view(),
    ),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/progress/", JobProgressView.as_view()),
    path("job_queues/<uuid:job_queue_id>/jobs/<str:job_id>/retry/", JobRetryView.as_view()),
    path("deliveries/progress/", ProgressView.as_view()),
    path("keys/", KeysView.as_view()),
    path("keys/<int:key_id>/", KeyView.as_view()),
    path("replays/", ReplaysView.as_view()),
    path("replays/<uuid:replay_id>/", ReplayView.as_view()),
    path("bulk_loads/", BulkLoadsView.as_view()),
    path("bulk_loads/<uuid:bulk_load_id>/", BulkLoadView.as_view()),
    path("bulk_loads/<uuid:bulk_load_id>/pause/", BulkLoadPauseView.as_view()),
    path("bulk_loads/<uuid:bulk_load_id>/resume/", BulkLoadResumeView.as_view()),
    path("bulk_loads/<uuid:bulk_load_id>/cancel/", BulkLoadCancelView.as_view()),
    path("operator_actions/", OperatorActionsView.as_view()),
]


urlpatterns = [
    path("api/v1/", include(api)),  # the busiest first, here as well
    path("", RedirectView.as_view(url="/admin/")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
    path("livez", livez),
    path("readyz", readyz),
    re_path("^api(/|$)", AnyOtherView.as_view()),
]

handler404 = "hook0.problems.not_found"
handler500 = "hook0.problems.server_error"
