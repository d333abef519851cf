"""Gives the tests a real PostgreSQL and a real broker, before Django reads its settings.

With DATABASE_URL in the environment the tests use that database and that environment's broker.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hook0.embedded import running
from hook0.programs import StartError

_services = ExitStack()
_owner = os.getpid()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    # A wrapper runs before pytest-django's hook of the same name, which loads the settings. The
    # workers of pytest-xdist inherit the environment of the first process.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        start_services()
    return (yield)


def start_services() -> None:
    atexit.register(stop_services)  # for a run that ends before pytest is configured
    home = _services.enter_context(temporary_home())
    os.environ["HOOK0_HOME"] = str(home)
    if os.environ.get("DATABASE_URL"):
        return
    try:
        urls = _services.enter_context(running(home, os.environ.get("HOOK0_POSTGRES_BIN", "")))
    except StartError as problem:
        raise pytest.UsageError(str(problem)) from None
    os.environ["DATABASE_URL"] = urls.database_url
    os.environ["CELERY_BROKER_URL"] = urls.broker_url


def pytest_unconfigure() -> None:
    stop_services()


def stop_services() -> None:
    # A process that a test has forked must not stop what it has not started.
    if os.getpid() == _owner:
        _services.close()


@contextmanager
def temporary_home() -> Generator[Path]:
    """A home that the account which runs PostgreSQL can enter; gone at the end."""
    home = Path(tempfile.mkdtemp(prefix="hook0-"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
