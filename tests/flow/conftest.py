"""The whole product as `make run` starts it, in a home and on ports of its own, for the tests of this folder."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hook0.installation import Credentials, read_credentials
from tests.cluster import ROOT

START_SECONDS = 180
STOP_SECONDS = 90


@dataclass
class Product:
    """A running installation, and what it printed."""

    process: subprocess.Popen[str]
    home: Path
    lines: list[str] = field(default_factory=list)
    up: threading.Event = field(default_factory=threading.Event)

    @property
    def credentials(self) -> Credentials:
        return read_credentials(self.home)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("Ctrl-C stops everything"):
                self.up.set()
        self.up.set()


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    with running_product() as product:
        yield product


@contextmanager
def running_product() -> Iterator[Product]:
    # Its services are its own: nothing of the test's database may leak in.
    theirs = ("DATABASE_URL", "CELERY_BROKER_URL", "HOOK0_SECRET_KEY", "DJANGO_SETTINGS_MODULE")
    with tempfile.TemporaryDirectory(prefix="hook0-flow-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o711)
        environment = {name: value for name, value in os.environ.items() if name not in theirs}
        environment |= {"HOOK0_HOME": str(home), "HOOK0_PORT": str(four_free_ports())}
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        product = Product(process, home)
        reading = threading.Thread(target=product.read)
        reading.start()
        try:
            assert product.up.wait(START_SECONDS), product.output
            assert process.poll() is None, product.output
            yield product
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(STOP_SECONDS)
            reading.join()
        assert code == 0, product.output


def four_free_ports() -> int:
    """The first of four ports in a row that nobody uses."""
    while True:
        with ExitStack() as stack:
            first, *others = [stack.enter_context(socket.socket()) for _ in range(4)]
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                for distance, other in enumerate(others, start=1):
                    other.bind(("127.0.0.1", port + distance))
            except (OSError, OverflowError):
                continue
            return port
