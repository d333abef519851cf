"""What a cluster has to have, where nothing of ours is installed."""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent.parent
HOW_TO = ROOT / "docs" / "how-to" / "load-from-spark.md"


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
