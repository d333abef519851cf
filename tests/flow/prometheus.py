"""A real Prometheus that watches a running product."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from hook0.probes import free_port
from tests.monitoring.watching import RULES, tool

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml, alerts.yml]
scrape_configs: [{{job_name: hook0, static_configs: [{{targets: ["{target}"]}}]}}]
"""
START_SECONDS = 60
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Prometheus:
    """Its API, as far as a test asks."""

    url: str

    def ask(self, path: str, **parameters: Any) -> Any:
        answer = requests.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30)
        document = answer.json()
        assert document["status"] == "success", f"{parameters}: {document}"
        return document["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        data = self.ask("query", query=expression)
        assert data["resultType"] == "vector", expression
        result: list[dict[str, Any]] = data["result"]
        return result

    def firing(self) -> set[str]:
        return {each["labels"]["alertname"] for each in self.ask("alerts")["alerts"] if each["state"] == "firing"}

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def wait_for(self, expression: str) -> None:
        """Until it is true of something."""
        wait_until(lambda: bool(self.query(expression)), expression)


def wait_until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"In vain: {what}"
        time.sleep(0.2)


@contextmanager
def watching(target: str, folder: Path, *, at_once: bool) -> Iterator[Prometheus]:
    """Scrape `target` every second, with our rules. `at_once`: an alert does not wait for its condition to last."""
    for file in ("rules.yml", "alerts.yml"):
        lines = (RULES / file).read_text().splitlines(keepends=True)
        kept = [line for line in lines if not (at_once and line.strip().startswith("for: "))]
        (folder / file).write_text("".join(kept))
    (folder / "prometheus.yml").write_text(CONFIGURATION.format(target=target))
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                tool("prometheus"),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            prometheus = Prometheus(f"http://127.0.0.1:{port}")
            _wait_until_ready(prometheus, process, folder / "log")
            yield prometheus
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_ready(prometheus: Prometheus, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        try:
            if requests.get(f"{prometheus.url}/-/ready", timeout=5).status_code == 200:
                return
        except requests.ConnectionError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
