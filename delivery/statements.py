"""Hard SQL lies in files, one statement each, in the folder `sql` of its app."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

QUEUE = Path(__file__).parent / "sql"


@cache
def statement(name: str, folder: Path = QUEUE) -> str:
    """The text of `<name>.sql`, without comments: psycopg reads a long text anew each time. The queue's, by default."""
    return re.sub("--.*", "", (folder / f"{name}.sql").read_text())


def run(name: str, parameters: Mapping[str, Any], folder: Path = QUEUE) -> list[tuple[Any, ...]]:
    """The rows of a statement on Django's connection, planned once; Django's cursors would plan it every time."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement(name, folder), parameters, prepare=True)
        return cursor.fetchall()
