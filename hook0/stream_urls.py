"""What the process of the streams serves: they alone, and a sign that it is there."""

from django.urls import include, path, re_path

from delivery.api.job_stream import JobStreamView
from delivery.api.stream import StreamView
from hook0 import urls
from hook0.api import AnyOtherView, InstanceView

api = [
    path("subscriptions/<uuid:subscription_id>/stream/", StreamView.as_view()),
    path("job_queues/<uuid:job_queue_id>/stream/", JobStreamView.as_view()),
    path("instance/", InstanceView.as_view()),
]

urlpatterns = [path("api/v1/", include(api)), re_path("", AnyOtherView.as_view())]
handler404, handler500 = urls.handler404, urls.handler500
