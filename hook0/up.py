"""`manage.py up`: the whole product comes up in the foreground, and goes down again."""

import json
import os
import shlex
from dataclasses import replace

from hook0.console import Console
from hook0.embedded import postgres, valkey
from hook0.installation import CREDENTIALS, Credentials, read_credentials, write_credentials
from hook0.product import Site, environment, programs, steps
from hook0.programs import end_recorded
from hook0.startup import check_ports, claimed
from hook0.supervisor import Supervisor
from monitoring.own_series import FILE as OWN_SERIES


def run(site: Site, console: Console) -> None:
    """Until a signal comes, which ends it with KeyboardInterrupt; StartError says what stands in its way."""
    with claimed(site.home), Supervisor(site.home, console) as supervisor:
        for left in end_recorded(site.home / "run" / "processes.json"):
            console.say(f"ended  process {left.pid}, which an earlier run had left: {shlex.join(left.argv)}")
        check_ports(site.bind, site.ports)
        urls = start_embedded(site, supervisor, console)
        remember(site, urls)
        forget_counters(site)
        env = environment(site, urls)
        for step in steps(site, env):
            supervisor.run(step)
        supervisor.start(programs(site, env))
        supervisor.wait_until_ready()
        console.say(greeting(site, read_credentials(site.home)))
        supervisor.watch()


def start_embedded(site: Site, supervisor: Supervisor, console: Console) -> dict[str, str]:
    """Start what the environment does not name; answers the URLs by the variables that would name them."""
    servers = {}
    if not os.environ.get("DATABASE_URL"):
        servers["DATABASE_URL"] = postgres.prepare(site.home, site.postgres_bin)
    if not os.environ.get("CELERY_BROKER_URL"):
        servers["CELERY_BROKER_URL"] = valkey.prepare(site.home)
    for server in servers.values():
        if server.note:
            console.report("note", server.program.name, server.note)
    supervisor.start(server.program for server in servers.values())
    supervisor.wait_until_ready()
    return {variable: server.url for variable, server in servers.items()}


def remember(site: Site, urls: dict[str, str]) -> None:
    """Write down where everything is, beside what earlier runs have stored there."""
    where = {variable: urls.get(variable) or os.environ[variable] for variable in ("DATABASE_URL", "CELERY_BROKER_URL")}
    credentials = replace(
        read_credentials(site.home),
        api_url=f"{site.public_url}/api/v1",
        admin_url=f"{site.public_url}/admin/",
        database_url=where["DATABASE_URL"],
        broker_url=where["CELERY_BROKER_URL"],
        metrics_url=f"http://127.0.0.1:{site.metrics_port}/metrics",
        stream_url=f"{site.stream_url}/api/v1",
        receiver_url=f"http://127.0.0.1:{site.receiver_port}" if site.receiver else "",
    )
    write_credentials(site.home, credentials)


def forget_counters(site: Site) -> None:
    """Counters of processes that are no more would be added to ours."""
    site.metrics_folder.mkdir(parents=True, exist_ok=True)
    for file in (*site.metrics_folder.glob("*.db"), site.metrics_folder / OWN_SERIES):
        file.unlink(missing_ok=True)


def greeting(site: Site, credentials: Credentials) -> str:
    """What an operator wants to know first."""
    return f"""
hook0 is up.

  API      {credentials.api_url}
  Streams  {credentials.stream_url}
  Admin    {credentials.admin_url}
           user {credentials.admin_username}, password: "admin_password" in {site.home / CREDENTIALS}
  Metrics  {credentials.metrics_url}

To send an event, in another terminal:

{example(credentials)}

Ctrl-C stops everything.
"""


def example(credentials: Credentials) -> str:
    """A command that posts one event when it is pasted into a shell."""
    event = {
        "application_id": credentials.application_id,
        "event_type": "demo.greeting.sent",
        "payload": json.dumps({"hello": "world"}),
        "payload_content_type": "application/json",
        "occurred_at": "'$(date -u +%Y-%m-%dT%H:%M:%SZ)'",
        "labels": {"demo": "yes"},
    }
    return f"""curl -sS {credentials.api_url}/event/ \\
  -H 'Authorization: Bearer {credentials.application_secret}' -H 'Content-Type: application/json' \\
  -d '{json.dumps(event)}'"""
