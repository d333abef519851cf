"""The product on one machine: which programs it is made of, and what they are told."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hook0.probes import http_answers, port_answers
from hook0.programs import Program
from hook0.startup import secret_key


@dataclass(frozen=True)
class Site:
    """The settings that say where and how large this installation is."""

    home: Path
    code: Path
    bind: str
    port: int
    metrics_port: int
    stream_port: int
    metrics_folder: Path
    public_url: str
    stream_url: str
    pumps: int
    postgres_bin: str = ""
    production: bool = False
    receiver: bool = True

    @property
    def receiver_port(self) -> int:
        return self.port + 1

    @property
    def ports(self) -> dict[int, str]:
        """Every port that must be free, and what chooses another."""
        moved = f"HOOK0_PORT={self.port + 10}"
        ports = {self.port: moved} | ({self.receiver_port: moved} if self.receiver else {})
        for name, port, distance in (
            ("HOOK0_METRICS_PORT", self.metrics_port, 2),
            ("HOOK0_STREAM_PORT", self.stream_port, 3),
        ):
            ports[port] = moved if port == self.port + distance else f"{name}={port + 10}"
        return ports


def environment(site: Site, urls: Mapping[str, str]) -> dict[str, str]:
    """What each program finds in its environment."""
    return {
        **os.environ,
        **urls,
        "HOOK0_HOME": str(site.home),
        "HOOK0_PORT": str(site.port),
        "HOOK0_METRICS_PORT": str(site.metrics_port),
        "HOOK0_STREAM_PORT": str(site.stream_port),
        "HOOK0_SECRET_KEY": os.environ.get("HOOK0_SECRET_KEY") or secret_key(site.home),
        "PROMETHEUS_MULTIPROC_DIR": str(site.metrics_folder),
        "PYTHONUNBUFFERED": "1",
    }


def steps(site: Site, env: Mapping[str, str]) -> Iterator[Program]:
    """What has to succeed before the programs start."""
    yield Program("migrate", (*manage(site), "migrate"), env, str(site.code))
    if site.production:
        # In development they are served from where the packages have them.
        yield Program("static", (*manage(site), "collectstatic", "--no-input"), env, str(site.code))
    yield Program("seed", (*manage(site), "seed"), env, str(site.code))


def programs(site: Site, env: Mapping[str, str]) -> Iterator[Program]:
    """What is kept running, in the order of starting."""
    code, local = str(site.code), "http://127.0.0.1"
    yield Program(
        "api",
        (sys.executable, *serve("hook0.wsgi:application", site.bind, site.port)),
        env,
        code,
        address=f"{site.public_url}/api/v1",
        is_ready=partial(http_answers, site.bind, site.port, "/api/v1/instance/", site.public_url),
    )
    yield Program(
        "streams",
        (sys.executable, *serve_streams(site.bind, site.stream_port)),
        env,
        code,
        address=f"{local}:{site.stream_port}",
        is_ready=partial(http_answers, site.bind, site.stream_port, "/api/v1/instance/", site.public_url),
    )
    yield worker(site, env, "delivery", site.pumps)
    yield worker(site, env, "maintenance", 1)
    yield Program(
        "beat",
        (*celery(), "beat", "--schedule", str(site.home / "beat-schedule"), "--loglevel", "WARNING"),
        env,
        code,
    )
    yield Program(
        "metrics",
        (*manage(site), "serve_metrics"),
        env,
        code,
        address=f"{local}:{site.metrics_port}/metrics",
        is_ready=partial(http_answers, site.bind, site.metrics_port, "/metrics", site.public_url),
    )
    if site.receiver:
        yield Program(
            "receiver",
            (*manage(site), "receiver", "--port", str(site.receiver_port)),
            env,
            code,
            address=f"{local}:{site.receiver_port}",
            is_ready=partial(port_answers, "127.0.0.1", site.receiver_port),
        )


def serve(application: str, host: str, port: int) -> tuple[str, ...]:
    """The web server of the API, as arguments of Python."""
    # Threads are how many ingests can be stored together (events.together). Granian warns of so many: errors alone.
    return (
        *("-m", "granian", "--interface", "wsgi", application),
        *("--host", host, "--port", str(port), "--workers", "2", "--blocking-threads", "24"),
        *_ALIKE,
    )


def serve_streams(host: str, port: int) -> tuple[str, ...]:
    """The web server of the streams, as arguments of Python."""
    # What it calls backpressure is how many streams there may be.
    return (
        *("-m", "granian", "--interface", "asgi", "hook0.asgi:application"),
        *("--host", host, "--port", str(port), "--workers", "1", "--backpressure", "10000"),
        *_ALIKE,
    )


_ALIKE = (
    *("--no-ws", "--log-level", "error", "--log-config", "hook0/server_log.json"),  # from where our code is
    *("--respawn-failed-workers", "--workers-kill-timeout", "15"),
)


def worker(site: Site, env: Mapping[str, str], queue: str, processes: int) -> Program:
    """A Celery worker of one queue."""
    # Celery warns of root because of pickle, which nothing here accepts.
    silenced = "ignore::UserWarning:celery.platforms"
    warnings = f"{env['PYTHONWARNINGS']},{silenced}" if env.get("PYTHONWARNINGS") else silenced
    return Program(
        queue,
        (
            *(*celery(), "worker", "--queues", queue, "--concurrency", str(processes)),
            *("--hostname", f"{queue}@%h", "--without-mingle", "--without-gossip", "--loglevel", "WARNING"),
        ),
        {**env, "PYTHONWARNINGS": warnings},
        str(site.code),
        address=f"{processes} {'process' if processes == 1 else 'processes'}",
    )


def celery() -> tuple[str, ...]:
    return (sys.executable, "-m", "celery", "--quiet", "--app", "hook0")


def manage(site: Site) -> tuple[str, ...]:
    return (sys.executable, str(site.code / "manage.py"))
