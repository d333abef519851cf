"""Hard SQL lies in files, one statement each, in the folder `sql` of its app."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import psycopg
from django.db import connection
from psycopg.types.json import set_json_loads

QUEUE = Path(__file__).parent / "sql"

set_json_loads(orjson.loads)  # of what our statements bring; Django reads its fields by itself


@cache
def statement(name: str, folder: Path = QUEUE, *, without: str = "") -> str:
    """The text of `<name>.sql` in one line, without comments, and without one clause. The queue's, by default."""
    return " ".join(re.sub("--.*", "", (folder / f"{name}.sql").read_text()).split()).replace(without, "")


@cache
def positional(text: str) -> tuple[str, tuple[str, ...]]:
    """A statement as PostgreSQL takes it, with $1, $2, ..., and the names of its parameters in this order."""
    names = tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    return re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", text), names


def run(name: str, parameters: Mapping[str, Any], folder: Path = QUEUE, *, without: str = "") -> list[tuple[Any, ...]]:
    """The rows of a statement on Django's connection, planned once; Django's cursors would plan it every time."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return execute(connection.connection, statement(name, folder, without=without), parameters)


def execute(on: psycopg.Connection[Any], text: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement, if it has any. By psycopg's RawCursor: the others read a long text anew at each call."""
    text, names = positional(text)
    with psycopg.RawCursor(on) as cursor:
        cursor.execute(text, [parameters[each] for each in names], prepare=True, binary=True)
        answer = cursor.pgresult  # what `description` would say costs an object for each column
        return cursor.fetchall() if answer and answer.nfields else []
