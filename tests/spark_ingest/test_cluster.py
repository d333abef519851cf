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
from packaging.requirements import Requirement

from events.models import Event
from spark_ingest import java, session
from tests.spark_ingest.rows import an_event

ROOT = Path(__file__).parent.parent.parent
HOW_TO = ROOT / "docs" / "how-to" / "load-from-spark.md"
SPARK = Path(pyspark.__file__).parent

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
import sys
from pyspark.sql import SparkSession
from spark_ingest import __main__
code = __main__.main()
print(__main__.__file__)
print(SparkSession.getActiveSession().sparkContext.master)
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


def test_what_is_submitted_runs_out_of_the_zip_on_the_cluster_that_is_named(url, application, tmp_path):
    java.provide_java()
    events = [an_event(n) for n in range(20)] + [an_event(20, payload="{")]
    (tmp_path / "events.json").write_text("\n".join(json.dumps(event, default=str) for event in events))
    (tmp_path / "load.py").write_text(SUBMITTED)
    known = {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, "DATABASE_URL": url, **known}
    environment.pop("PYTHONPATH", None)
    master, archive = "local-cluster[1,1,512]", str(session._zipped())  # its executor is a process of its own
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, "--conf", "spark.executor.memory=512m"]
    command += ["--py-files", archive, "load.py", "--source", "events.json", "--format", "json", "--json"]
    command += ["--application-id", str(application.id), "--quarantine", str(tmp_path / "bad")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report, file, ran_on = done.stdout.splitlines()[-3:]
    assert (json.loads(report)["loaded"], json.loads(report)["quarantined"], Event.objects.count()) == (20, 1, 20)
    assert "spark_ingest.zip" in file
    assert ran_on == master
