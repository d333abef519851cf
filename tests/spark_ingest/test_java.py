import os
import shutil
import subprocess
from pathlib import Path

import pytest

from spark_ingest import java
from spark_ingest.problems import LoadProblem


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)


@pytest.mark.usefixtures("no_java")
def test_where_there_is_no_java_the_one_from_pip_runs_and_ignores_the_module_it_lacks():
    java.provide_java()
    home = Path(os.environ.pop("JAVA_HOME"))
    asked = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-Dname=a b", "-version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "openjdk version" in said.stderr


@pytest.mark.usefixtures("no_java")
def test_without_any_java_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    with pytest.raises(LoadProblem, match="apt install openjdk-17-jre-headless"):
        java.provide_java()


def test_a_home_that_has_no_java_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(LoadProblem, match="there is no bin/java"):
        java.provide_java()
