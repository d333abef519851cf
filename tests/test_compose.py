"""docker-compose.yml against its schema, and against what the code knows: commands, queues, settings."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands
from ruamel.yaml import YAML

from hook0 import env
from hook0.product import Site, programs
from hook0.programs import kill_group
from subscriptions import limits

ROOT = Path(settings.BASE_DIR)
FILE = ROOT / "docker-compose.yml"
SERVICES = YAML(typ="safe").load(FILE)["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "hook0"}
ONCE = {"migrate", "seed"}
RUNNING = sorted(set(OURS) - ONCE)

INTERPOLATED = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
REQUIRED = re.compile(r"\$\{\w+:\?[^}]+\}")
PASSWORD_IN_URL = re.compile(r"://[^:/@]*:(.+)@[^@]*$")
SECRET_NAME = re.compile(r"PASS|SECRET|TOKEN|KEY")


def command_of(name):
    """The words of a service's command, with every variable at its default."""
    command = SERVICES[name]["command"]
    words = command if isinstance(command, list) else shlex.split(command)
    return [INTERPOLATED.sub(lambda found: found[3], word) for word in words]


def seconds(duration):
    assert duration.endswith("s")
    return int(duration[:-1])


def test_the_file_follows_the_schema_of_compose():
    check = Path(sys.executable).with_name("check-jsonschema")
    checked = subprocess.run(
        [check, "--builtin-schema", "vendor.compose-spec", FILE], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_password_is_written_down(name):
    for variable, value in SERVICES[name].get("environment", {}).items():
        if value is None:
            continue  # it comes from .env, or not at all
        if SECRET_NAME.search(variable):
            assert REQUIRED.fullmatch(value), f"{variable} is not of the form ${{NAME:?how to make one}}"
        if in_url := PASSWORD_IN_URL.search(value):
            assert REQUIRED.fullmatch(in_url[1]), f"the password in {variable} is not of the form ${{NAME:?...}}"


def test_what_is_required_says_how_to_set_it():
    found = [found for found in INTERPOLATED.finditer(FILE.read_text()) if found[2] == "?"]
    assert found
    for name, _, message in (match.groups() for match in found):
        assert "set it in .env" in message, f"{name}: {message}"
        assert "openssl rand -hex 32" in message or not SECRET_NAME.search(name), f"{name}: {message}"


def test_everything_that_may_be_set_is_in_the_example_and_empty_there():
    example = dict(
        line.split("=", 1) for line in (ROOT / ".env.example").read_text().splitlines() if line and line[0] != "#"
    )
    assert not [name for name, value in example.items() if value], "the example holds values"
    passed_through = {name for service in OURS.values() for name, value in service["environment"].items() if not value}
    asked_for = {found[1] for found in INTERPOLATED.finditer(FILE.read_text())} | passed_through
    assert set(example) == asked_for
    assert {name for name in example if name.startswith("HOOK0_")} <= set(env.VARIABLES)


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_services_are_given_only_what_the_settings_read(name):
    assert set(OURS[name]["environment"]) <= set(env.VARIABLES)


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_services_run_commands_that_exist(name):
    command = " ".join(command_of(name))
    assert re.search(r"manage\.py|celery|granian", command)
    for wanted in re.findall(r"manage\.py (\w+)", command):
        assert wanted in get_commands()


def test_every_queue_has_a_worker_and_no_worker_waits_for_nothing():
    queues = {settings.CELERY_TASK_DEFAULT_QUEUE, *(route["queue"] for route in settings.CELERY_TASK_ROUTES.values())}
    served = [queue for name in OURS for queue in re.findall(r"--queues (\S+)", " ".join(command_of(name)))]
    assert sorted(served) == sorted(queues)


def test_services_run_as_manage_py_up_runs_them():
    site = Site(
        home=Path("/var/lib/hook0/beat"),  # of which only beat's schedule makes use
        code=Path(),
        bind="0.0.0.0",
        port=8000,
        metrics_port=8002,
        stream_port=8003,
        metrics_folder=Path("/run/counters"),
        public_url="https://hooks.example.com",
        stream_url="https://hooks.example.com",
        pumps=2,
        production=True,
        receiver=False,
    )
    for program in programs(site, {}):
        command = " ".join(program.argv).removeprefix(f"{sys.executable} ").removeprefix("-m ")
        assert command in " ".join(command_of(program.name)), f"{program.name} runs otherwise under `manage.py up`"


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONCE))
def test_what_keeps_running_is_checked_and_started_again(name):
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", ["api", "streams", "delivery", "maintenance"])
def test_counters_are_served_for_as_long_as_a_container_lives(name, tmp_path):
    """The shell of the service, with others in place of the programs: what serves the counters ends at once."""
    *shell, script = SERVICES[name]["command"]
    served, serve = tmp_path / "served", "python manage.py serve_metrics --counters"
    assert serve in script
    script = re.sub("exec .*", "exec sleep 60", script.replace(serve, f"echo again >> {served}"))
    container = subprocess.Popen([*shell, script], start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while not (served.exists() and len(served.read_text().splitlines()) >= 2):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        kill_group(container.pid)
        container.wait()


@pytest.mark.parametrize("name", RUNNING)
def test_ours_wait_for_the_database_the_broker_and_the_migrations(name):
    assert SERVICES[name]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "rabbitmq": {"condition": "service_healthy"},
        "migrate": {"condition": "service_completed_successfully"},
    }


def test_workers_have_the_time_to_finish_what_is_in_flight():
    longest_request = limits.TIMEOUT_MS[1] / 1000
    assert seconds(SERVICES["delivery"]["stop_grace_period"]) > longest_request
    assert seconds(SERVICES["maintenance"]["stop_grace_period"]) >= 40


def test_the_delivery_service_can_be_scaled():
    assert not {"container_name", "ports", "hostname", "volumes"} & set(SERVICES["delivery"])


def test_ports_are_published_on_loopback_alone():
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_prometheus_and_grafana_ask_services_that_exist():
    scraped = YAML(typ="safe").load(ROOT / "monitoring/prometheus/prometheus.yml")["scrape_configs"]
    hosts = [
        target.split(":")[0] for job in scraped for each in job.get("static_configs", []) for target in each["targets"]
    ]
    hosts += [name for job in scraped for each in job.get("dns_sd_configs", []) for name in each["names"]]
    sources = ROOT / "monitoring/grafana/provisioning/datasources/prometheus.yml"
    hosts += [re.split("[:/]+", source["url"])[1] for source in YAML(typ="safe").load(sources)["datasources"]]
    assert set(hosts) == {"metrics", "api", "streams", "delivery", "maintenance", "prometheus"}
    assert set(hosts) <= set(SERVICES)


def test_the_files_that_are_mounted_exist():
    for service in SERVICES.values():
        for source in (volume.split(":")[0] for volume in service.get("volumes", [])):
            assert not source.startswith(".") or (ROOT / source).exists()


def test_the_image_holds_every_app_and_no_secrets():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"  # first everything is left out
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    apps = {app for app in settings.INSTALLED_APPS if (ROOT / app).is_dir()}
    assert apps | {"manage.py", "pyproject.toml", "README.md"} <= let_in
    assert all((ROOT / name).exists() for name in let_in)
    assert not {".env", "var", ".git", "tests"} & let_in
