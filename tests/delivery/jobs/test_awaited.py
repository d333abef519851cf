"""The queue from an event loop."""

import asyncio
import inspect

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from delivery.jobs import NewJob, Queue, State
from delivery.jobs.queues import create_queue
from delivery.problems import JobConflict

WITHIN = {"assign", "give_back", "take_lapsed"}  # said by streams and by maintenance


def test_every_method_has_a_form_that_is_awaited_with_the_same_parameters():
    methods = {name for name, _ in inspect.getmembers(Queue, callable) if not name.startswith("_")}
    blocking = {name for name in methods if f"a{name}" in methods}
    assert methods == blocking | {f"a{name}" for name in blocking} | WITHIN
    for name in blocking - {"stream"}:
        awaited = getattr(Queue, f"a{name}")
        assert inspect.iscoroutinefunction(awaited)
        assert inspect.signature(awaited) == inspect.signature(getattr(Queue, name))


@pytest.mark.django_db(transaction=True)
def test_a_service_in_an_event_loop_needs_no_thread_of_its_own(application):
    create_queue(application.id, "loop", is_fifo=True, retry_limit=0)

    async def serve() -> None:
        queue = await Queue.anamed(application.id, "loop")
        await queue.aenqueue_many([NewJob("first", key="a"), NewJob("second", key="a")])
        seen = []
        async with queue.astream("me", max_assigned=1) as stream:
            async for batch in stream:
                for job in batch:
                    seen.append(job.id)
                    assert await queue.aprogress(job.id, percent=50) == State.RUNNING
                    await queue.acomplete(job.id, b"done")
                if len(seen) == 2:
                    break
        assert seen == ["first", "second"]
        with pytest.raises(JobConflict, match="COMPLETED"):
            await queue.afail("first", "no")
        await queue.aenqueue(NewJob("third", key="a"))
        (third,) = await queue.aclaim("me")
        assert await queue.afail(third.id, "no") == State.EXHAUSTED
        assert await queue.ablocked_keys() == ["a"]
        assert await queue.adelete(ids=[third.id]) == 1
        assert (await queue.astatistics()).completed_jobs == 2
        assert (await queue.aget("first")).result == b"done"
        await queue.aclose()

    async def run() -> None:
        try:
            async with asyncio.timeout(60):
                await serve()
        finally:
            await sync_to_async(connections.close_all)()

    asyncio.run(run())
