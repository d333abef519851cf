from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from delivery.api.request_attempts import RequestAttemptsView, RequestAttemptView, ResponseView, RetryView
from events.api.event import EventView
from events.api.events import EventsView, OneEventView, ReplayView
from events.api.events_per_day import ApplicationEventsPerDayView, OrganizationEventsPerDayView
from hook0.api import AnyOtherView, ErrorsView, InstanceView
from subscriptions.api.views import SubscriptionsView, SubscriptionView
from tenants.api.event_types import EventTypesView, EventTypeView

api = [
    path("instance/", InstanceView.as_view()),
    path("errors/", ErrorsView.as_view()),
    path("event/", EventView.as_view()),
    path("events/", EventsView.as_view()),
    path("events/<uuid:event_id>/", OneEventView.as_view()),
    path("events/<uuid:event_id>/replay/", ReplayView.as_view()),
    path("events_per_day/application/", ApplicationEventsPerDayView.as_view()),
    path("events_per_day/organization/", OrganizationEventsPerDayView.as_view()),
    path("request_attempts/", RequestAttemptsView.as_view()),
    path("request_attempts/<uuid:request_attempt_id>/", RequestAttemptView.as_view()),
    path("request_attempts/<uuid:request_attempt_id>/retry/", RetryView.as_view()),
    path("responses/<uuid:response_id>/", ResponseView.as_view()),
    path("event_types/", EventTypesView.as_view()),
    path("event_types/<path:name>/", EventTypeView.as_view()),
    path("subscriptions/", SubscriptionsView.as_view()),
    path("subscriptions/<uuid:subscription_id>/", SubscriptionView.as_view()),
]

admin.site.site_header = admin.site.site_title = "hook0"
admin.site.index_title = "Webhooks that keep their order"

urlpatterns = [
    path("", RedirectView.as_view(url="/admin/")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    re_path("^api(/|$)", AnyOtherView.as_view()),
]

handler404 = "hook0.problems.not_found"
handler500 = "hook0.problems.server_error"
