"""docs/reference/settings.md against the settings: the same variables, defaults and words, in the same order.

The page is compared with what the settings read in two fresh processes, one for development and one for
production, in which nothing is set but what must be.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "settings.md"
HEAD = ["| Variable | Default | Meaning |", "|---|---|---|"]
REQUIRED_IN_PRODUCTION = {
    "HOOK0_ENVIRONMENT": "production",
    "HOOK0_SECRET_KEY": "x" * 64,
    "HOOK0_ALLOWED_HOSTS": "hooks.example.com",
    "DATABASE_URL": "postgresql://hook0:x@localhost/hook0",
    "CELERY_BROKER_URL": "amqp://hook0:x@localhost//",
}
PRINT = """
import dataclasses, json
import hook0.settings
from hook0 import env
print(json.dumps([dataclasses.asdict(variable) for variable in env.VARIABLES.values()]))
"""

Variable = dict[str, Any]


def read_settings(home: Path, **environment: str) -> list[Variable]:
    """What the settings read in a process that finds nothing but this environment and an empty home."""
    printed = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOOK0_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    variables: list[Variable] = json.loads(printed)
    return variables


def default_cell(development: Variable, production: Variable) -> str:
    """One default, or both where they differ."""
    shown, in_production = (written(variable) for variable in (development, production))
    return shown if shown == in_production else f"{shown}; in production {in_production}"


def written(variable: Variable) -> str:
    default = variable["default"]
    if default is None:
        return "**required**"
    if not default:
        return "unset"
    if variable["sensitive"]:
        return "a stand-in"
    return f"`{default.removeprefix(f'{ROOT}/')}`"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows of the page, by its headings."""
    home = tmp_path_factory.mktemp("no-home")
    rows: dict[str, list[str]] = {}
    for development, production in zip(read_settings(home), read_settings(home, **REQUIRED_IN_PRODUCTION), strict=True):
        assert development["name"] == production["name"]
        default, meaning = default_cell(development, production), development["description"]
        rows.setdefault(development["group"], []).append(f"| `{development['name']}` | {default} | {meaning} |")
    return rows


@pytest.fixture(scope="module")
def documented() -> dict[str, list[str]]:
    """The tables of the page, by its headings."""
    tables: dict[str, list[str]] = {}
    heading = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|"):
            tables.setdefault(heading, []).append(line)
    return tables


def test_the_page_has_a_row_for_every_variable_in_the_words_of_the_settings(
    expected: dict[str, list[str]], documented: dict[str, list[str]]
) -> None:
    for group, rows in expected.items():
        for row in rows:
            assert row in documented.get(group, []), f"docs/reference/settings.md, under `## {group}`, lacks\n\n{row}\n"


def test_hook0s_names_of_address_and_port_do_where_ours_are_not_set(tmp_path: Path) -> None:
    defaults = {each["name"]: each["default"] for each in read_settings(tmp_path, IP="0.0.0.0", PORT="9000")}
    assert (defaults["HOOK0_BIND"], defaults["HOOK0_PORT"]) == ("0.0.0.0", "9000")
    assert defaults["HOOK0_PUBLIC_URL"] == "http://127.0.0.1:9000"


def test_the_page_has_nothing_that_the_settings_do_not_read_and_keeps_their_order(
    expected: dict[str, list[str]], documented: dict[str, list[str]]
) -> None:
    assert documented == {group: HEAD + rows for group, rows in expected.items()}


def test_events_are_not_kept_for_less_than_their_attempts(tmp_path: Path) -> None:
    assert read_settings(tmp_path, HOOK0_ATTEMPT_RETENTION_DAYS="7", HOOK0_EVENT_RETENTION_DAYS="7")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        read_settings(tmp_path, HOOK0_ATTEMPT_RETENTION_DAYS="7", HOOK0_EVENT_RETENTION_DAYS="6")
    assert "HOOK0_EVENT_RETENTION_DAYS: 6 is less" in refused.value.stderr
