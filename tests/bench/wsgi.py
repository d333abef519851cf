"""What granian serves to the benchmarks."""

from django.conf import settings

from hook0.wsgi import application

__all__ = ["application"]

settings.ROOT_URLCONF = "tests.bench.nothing"
