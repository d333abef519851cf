"""PostgreSQL and a broker that need nothing but pip, for `make run` and the tests."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hook0.embedded import postgres, valkey
from hook0.embedded.server import Server
from hook0.programs import StartError, end, spawn

TRIES = 5


@dataclass(frozen=True)
class Urls:
    database_url: str
    broker_url: str


@contextmanager
def running(home: Path, postgres_bin: str = "") -> Iterator[Urls]:
    """Both services, with their data in `home`, for as long as the block lasts."""
    with ExitStack() as services:
        database = services.enter_context(serving(home, lambda: postgres.prepare(home, postgres_bin)))
        broker = services.enter_context(serving(home, lambda: valkey.prepare(home)))
        yield Urls(database.url, broker.url)


@contextmanager
def serving(home: Path, prepare: Callable[[], Server], patience: float = 60.0) -> Iterator[Server]:
    """One of them; started again where its port was taken meanwhile or an earlier run has not quite ended."""
    (home / "log").mkdir(parents=True, exist_ok=True)
    for _ in range(TRIES):
        server = prepare()
        program = server.program
        log = home / "log" / f"{program.name}.log"
        process = spawn(program, log)
        try:
            deadline = time.monotonic() + patience
            while process.poll() is None and time.monotonic() < deadline:
                if program.is_ready and program.is_ready():
                    yield server
                    return
                time.sleep(0.02)
        finally:
            end(program, process)
        time.sleep(0.5)
    raise StartError(f"{program.name} does not start; {log} says why:\n{log.read_text()[-2000:]}")
