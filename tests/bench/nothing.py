"""The product's API, and a view beside it that does nothing: the yardstick of an ingest."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import hook0.urls


class NothingView(APIView):
    authentication_classes = permission_classes = ()

    def post(self, request: Request) -> Response:
        return Response({}, status=201)


urlpatterns = [path("api/v1/nothing/", NothingView.as_view()), *hook0.urls.urlpatterns]
handler404, handler500 = hook0.urls.handler404, hook0.urls.handler500
