"""The way to the database, and its statements."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from spark_ingest.problems import LoadProblem

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str, *, purpose: str) -> Connection:
    """A connection that commits each statement, unless a transaction is opened."""
    if not url.startswith(("postgresql://", "postgres://")):
        hint = " (without jdbc: in front)" if url.startswith("jdbc:") else ""
        raise LoadProblem(f"The database's URL must be like postgresql://user:password@host:5432/hook0{hint}.")
    try:
        return psycopg.connect(url, autocommit=True, application_name=f"hook0 bulk load: {purpose}", connect_timeout=15)
    except psycopg.Error as problem:
        raise LoadProblem(f"There is no way to {where(url)}: {problem}") from None


def where(url: str) -> str:
    """Which database, without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the database"
    host, port = parts.get("host") or "localhost", parts.get("port") or 5432
    return f"the database {parts.get('dbname') or ''} on {host}:{port} as {parts.get('user') or 'the current user'}"


def statement(name: str, staging: str = "", **parts: sql.SQL) -> sql.Composed:
    """What is in `sql/<name>.sql`; `{staging}` in it is the table of a load, `{order}` the table's index."""
    table = sql.Identifier("bulk_load_stage", staging)
    return _text(name).format(staging=table, order=sql.Identifier(f"{staging}_order"), **parts)


@cache
def _text(name: str) -> sql.SQL:
    text = (files("spark_ingest") / "sql" / f"{name}.sql").read_text()
    return sql.SQL(re.sub("--.*", "", text))
