"""The operations that the published `hook0-client` generates, blocking or awaiting, and a record of what was called."""

import dataclasses
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from hook0.generated import aio, api, errors, models

import hook0


class Client:
    """The generated operations with one token; it knows which were never called, and what came back."""

    called: ClassVar[set[str]] = set()
    seen_models: ClassVar[set[str]] = set()
    seen_errors: ClassVar[set[str]] = set()

    def __init__(self, flavour: str, url: str, token: str) -> None:
        module, transport = (api, hook0.HttpTransport) if flavour == "sync" else (aio, hook0.AsyncHttpTransport)
        self.transport = transport(url, token)
        self._apis = {name: kind(self.transport) for name, kind in vars(module).items() if name.endswith("Api")}

    def operations(self) -> set[str]:
        return {
            f"{short(name)}.{method}"
            for name, group in self._apis.items()
            for method, _ in inspect.getmembers(group, inspect.ismethod)
            if not method.startswith("_")
        }

    async def call(self, operation: str, *arguments: Any, **named: Any) -> Any:
        name, _, method = operation.partition(".")
        group = next(group for each, group in self._apis.items() if short(each) == name)
        answer = await awaited(getattr(group, method), *arguments, **named)
        self.called.add(operation)
        for value in answer if isinstance(answer, list) else [answer]:
            self.came_back(value)
        return answer

    def came_back(self, value: Any) -> None:
        """Note the models of a value, which must be what their documents make."""
        if dataclasses.is_dataclass(value):
            self.seen_models.add(type(value).__name__)
            assert type(value).from_json(value.to_json()) == value
            for part in vars(value).values():
                self.came_back(part)
        elif isinstance(value, models.StrEnum):
            self.seen_models.add(type(value).__name__)

    async def refused(self, error: type[errors.ProblemError], operation: str, *arguments: Any, **named: Any) -> None:
        problem = await exception_of(self.call(operation, *arguments, **named))
        assert type(problem) is error, f"{operation}: {problem!r}"
        self.came_back(problem.problem)
        self.seen_errors.add(error.__name__)


def short(name: str) -> str:
    return name.removesuffix("Api").removesuffix("Async")


async def awaited(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a function answers, now or later."""
    answer = function(*arguments, **named)
    return await answer if inspect.isawaitable(answer) else answer


async def exception_of(call: Awaitable[Any]) -> Exception | None:
    try:
        await call
    except Exception as problem:
        return problem
    return None
