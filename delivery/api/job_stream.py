"""`GET /job_queues/{id}/stream/`: jobs as they come. Served by the process of the streams (hook0.asgi)."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

from django.db import InterfaceError, OperationalError
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from delivery.api.event_stream import CONTENT_TYPE, EventStream, event
from delivery.api.job_queues import queue_in
from delivery.api.job_shapes import AssigneePost, JobAnswer, tags_field
from delivery.api.stream import STREAMS
from delivery.jobs import Job, limits
from delivery.jobs.async_stream import AsyncStream
from delivery.problems import StreamIsElsewhere
from tenants.authentication import principal_of, token_of
from tenants.credentials import principal_with
from tenants.fields import checked
from tenants.problems import raises

logger = logging.getLogger(__name__)

AT_ONCE = 10  # jobs that are assigned before they are sent
PING_SECONDS = 15.0
CHECK_SECONDS = 60.0  # until it is looked whether the worker is still allowed to have its stream
EXAMPLE = """event: ping
data:

id: photo-1042
event: message
data: {"id": "photo-1042", "status": "RUNNING", "type": "resize", "definition": {"width": 320}, ...}
"""


class JobStreamQuery(AssigneePost):
    tags = tags_field(help_text="Jobs that have all of them; repeat it.")
    max_assigned = serializers.IntegerField(
        min_value=1,
        max_value=limits.ASSIGNED,
        required=False,
        default=10,
        help_text="Jobs that the stream has assigned at a time: no more are sent before some of them end.",
    )


class JobStreamView(APIView):
    @raises(StreamIsElsewhere)
    @extend_schema(
        operation_id="jobQueues.stream",
        tags=["Job queues"],
        parameters=[JobStreamQuery],
        responses={(200, CONTENT_TYPE): OpenApiTypes.STR},
        examples=[OpenApiExample("A ping and a job", EXAMPLE, response_only=True, media_type=CONTENT_TYPE)],
    )
    def get(self, request: Request, job_queue_id: uuid.UUID) -> HttpResponseBase:
        """Stay connected and be assigned jobs as they come, as server-sent events.

        `message` is a job, as a claim has it; `ping` says that the stream lives. Say of each job what becomes of it as
        if it was claimed.
        """
        queue = queue_in(request, job_queue_id)
        query = checked(JobStreamQuery, request.query_params)
        if STREAMS not in request.META:
            raise StreamIsElsewhere
        token, principal = token_of(request), principal_of(request)
        wanted = {"tags": query["tags"], "max_assigned": query["max_assigned"]}
        stream = queue.astream(query["assignee"], at_once=AT_ONCE, **wanted)
        is_allowed = partial(request.META[STREAMS].ask, lambda: principal_with(token) == principal, True)
        return EventStream(_events(stream, is_allowed), stream.end)


async def _events(stream: AsyncStream, is_allowed: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes, None]:
    async with stream:
        yield event("ping")
        check_at = time.monotonic() + CHECK_SECONDS
        while True:
            if time.monotonic() > check_at:
                check_at = time.monotonic() + CHECK_SECONDS
                if not await is_allowed():
                    return
            try:
                async with asyncio.timeout(PING_SECONDS):
                    batch = await anext(stream)
            except TimeoutError:
                yield event("ping")
                continue
            except StopAsyncIteration:
                return
            except (OperationalError, InterfaceError) as problem:
                logger.warning("The database does not answer, a stream of jobs ends: %s", problem)
                return
            try:
                while batch and not stream.is_over:
                    yield event("message", _json(batch[0]), id_=batch[0].id)
                    del batch[0]  # it was sent
            finally:
                stream.put_back(batch)


def _json(job: Job) -> bytes:
    return JSONRenderer().render(JobAnswer(job).data)
