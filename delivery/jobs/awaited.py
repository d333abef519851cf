"""Methods for event loops, made of those for threads."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

Owner = TypeVar("Owner")
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def awaited(
    method: Callable[Concatenate[Owner, Asked], Answer],
) -> Callable[Concatenate[Owner, Asked], Coroutine[Any, Any, Answer]]:
    """The same, to be awaited: in the thread of Django's own asynchronous methods, and by its connection."""

    @wraps(method)
    async def run(owner: Owner, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        return await sync_to_async(method)(owner, *args, **kwargs)

    return run
