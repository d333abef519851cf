"""What everybody may read."""

from rest_framework.permissions import AllowAny
from rest_framework.views import APIView


class PublicView(APIView):
    """Readable without credentials."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
