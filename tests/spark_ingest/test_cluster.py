"""On a cluster, nothing of ours is installed: the package comes as a zip."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pyspark
import pytest
from packaging.requirements import Requirement

from events.models import BulkLoad, Event
from hook0.programs import kill_group
from spark_ingest import java, session
from tests.spark_ingest.conftest import in_order, staging_tables
from tests.spark_ingest.rows import an_event
from tests.spark_ingest.waiting import wait_until

ROOT = Path(__file__).parent.parent.parent
HOW_TO = ROOT / "docs" / "how-to" / "load-from-spark.md"
SPARK = Path(pyspark.__file__).parent
SPECULATION = {
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "1s",
}

READ_ALL = """
import sys
sys.path.insert(0, sys.argv[1])
from importlib.resources import files
from spark_ingest import database, __main__, delivery_report
assert database.__file__.startswith(sys.argv[1])
for file in (files("spark_ingest") / "sql").iterdir():
    database._text(file.name.removesuffix(".sql"))
    print(file.name)
"""
SUBMITTED = """
import sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
from spark_ingest import __main__

def stand_still(batches):  # the first try of the first task, until Spark kills it; the second waits for its beginning
    task, attempt = TaskContext.get().partitionId(), TaskContext.get().attemptNumber()
    (folder / f"task {task} try {attempt}").touch()
    ends = time.monotonic() + 120
    while task == 0 and not (folder / "task 0 try 0").exists() and time.monotonic() < ends:
        time.sleep(0.1)
    yield from batches
    while (task, attempt) == (0, 0) and time.monotonic() < ends:
        time.sleep(0.1)

code, folder = __main__.main(), Path.cwd()
spark = SparkSession.getActiveSession()
print(__main__.__file__)
print(spark.sparkContext.master)
rows = spark.range(40, numPartitions=4).selectExpr(
    "cast(id AS string) AS payload", "'billing.invoice.paid' AS event_type", "map('shop', '1') AS labels",
    "timestamp '2026-01-01 00:00:00' AS occurred_at", "id AS place",
)
url, application_id = sys.argv[1].partition("=")[2], sys.argv[2].partition("=")[2]
options = {"url": url, "application_id": application_id, "place": "place", "source": "twice"}
slow = rows.mapInArrow(stand_still, rows.schema)
slow.write.format("hook0").options(**options).mode("append").save()
sys.exit(code)
"""


def imported() -> set[str]:
    """The modules of others that the package imports."""
    found: set[str] = set()
    for file in (ROOT / "spark_ingest").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"spark_ingest"}


def brought(requirement: Requirement) -> Iterator[str]:
    """The packages that an installation brings."""
    yield requirement.name
    for line in requires(requirement.name) or ():
        needed = Requirement(line)
        wanted = [{"extra": extra} for extra in requirement.extras] or [{"extra": ""}]
        if not needed.marker or any(needed.marker.evaluate(extra) for extra in wanted):
            yield from brought(needed)


def test_what_the_how_to_installs_on_each_machine_brings_all_that_is_imported():
    (line,) = re.findall("^pip install ('pyspark.*)  # on each machine$", HOW_TO.read_text(), re.MULTILINE)
    there = {name for asked in re.findall("'(.*?)'", line) for name in brought(Requirement(asked))}
    wanted = {distribution for name in imported() for distribution in packages_distributions()[name]}
    assert wanted | {"pandas"} <= there  # pandas: Spark asks for it where a DataFrame is mapped in Arrow
    assert wanted >= {"pyspark", "pyarrow", "numpy", "psycopg"}


def test_the_package_and_its_statements_are_read_out_of_a_zip(tmp_path):
    command = [sys.executable, "-I", "-c", READ_ALL, str(session._zipped())]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    statements = (ROOT / "spark_ingest" / "sql").glob("*.sql")
    assert sorted(found.stdout.split()) == sorted(file.name for file in statements)


@pytest.fixture
def standalone(tmp_path):
    """A master and two workers; on two addresses, since Spark runs no task twice on one host."""
    java.provide_java()
    known = {"SPARK_HOME": str(SPARK), "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    environment = {**os.environ, **known, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYTHONPATH", None)
    started, address = [], re.compile("Starting Spark master at (.*)\n")

    def start(kind, host, *arguments):
        log = tmp_path / f"{kind} {host}.log"
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        command += ["--host", host, "--port", "0", "--webui-port", "0", *arguments]
        with log.open("w") as output:
            here = {**environment, "SPARK_LOCAL_IP": host}
            started.append(subprocess.Popen(command, env=here, stderr=output, start_new_session=True))
        return log

    try:
        log = start("Master", "127.0.0.1")
        wait_until(lambda: bool(address.search(log.read_text())))
        (master,) = address.findall(log.read_text())
        for host in ("127.0.0.1", "127.0.0.2"):
            options = ["--cores", "1", "--memory", "512m", "--work-dir", str(tmp_path / host)]
            start("Worker", host, *options, master)
        yield master, environment
    finally:
        for process in started[::-1]:
            kill_group(process.pid)
            process.wait()


def test_what_is_submitted_runs_on_its_cluster_out_of_the_zip_and_a_task_run_twice_at_once_adds_nothing_twice(
    standalone, url, application, tmp_path
):
    events = [an_event(n) for n in range(20)] + [an_event(20, payload="{")]
    (tmp_path / "events.json").write_text("\n".join(json.dumps(event, default=str) for event in events))
    (tmp_path / "load.py").write_text(SUBMITTED)
    master, environment = standalone
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, "--py-files", str(session._zipped())]
    for name, value in SPECULATION.items():
        command += ["--conf", f"{name}={value}"]
    command += ["load.py", f"--database-url={url}", f"--application-id={application.id}", "--source", "events.json"]
    command += ["--format", "json", "--quarantine", str(tmp_path / "bad"), "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    report, file, ran_on = done.stdout.splitlines()[-3:]
    assert (json.loads(report)["loaded"], json.loads(report)["quarantined"]) == (20, 1)
    assert "spark_ingest.zip" in file
    assert ran_on == master

    assert {file.name for file in tmp_path.glob("task *")} >= {"task 0 try 0", "task 0 try 1", "task 3 try 0"}
    load = BulkLoad.objects.get(source="twice")
    assert (load.state, load.rows_read, load.rows_merged, load.events_count) == ("ready", 40, 40, 40)
    assert in_order(load.id) == [str(n) for n in range(40)]
    assert (staging_tables(), Event.objects.count()) == (0, 60)
