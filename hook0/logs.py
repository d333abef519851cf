"""Log lines, for people and for machines. Both say which request they belong to, and neither shows rows of tables."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
from django.db import Error as DjangosError

from hook0.request_ids import request_id


class Line(logging.Formatter):
    """For people: `WARNING delivery.doorbell: what happened [request id]`."""

    def __init__(self) -> None:
        super().__init__("{levelname:<7} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        return f"{line} [{request_id.get()}]" if request_id.get() else line

    def format(self, record: logging.LogRecord) -> str:
        return without_rows(super().format(record), record)


class Json(logging.Formatter):
    """For machines: an object on each line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_rows(record.getMessage(), record),
        }
        if request_id.get():
            entry["request_id"] = request_id.get()
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = without_rows(self.formatException(record.exc_info), record)
        return json.dumps(entry)


def without_rows(text: str, record: logging.LogRecord) -> str:
    """PostgreSQL shows rows and statements in further lines of an error, and they are somebody's data."""
    for problem in _problems(record):
        whole = str(problem)
        first = whole.partition("\n")[0]
        if isinstance(problem, DjangosError | psycopg.Error) and whole != first:
            text = text.replace(whole, first).replace(repr(whole), repr(first))
    return text


def _problems(record: logging.LogRecord) -> Iterator[BaseException]:
    """What a line is about, with what it came of."""
    arguments = record.args.values() if isinstance(record.args, dict) else record.args or ()
    left: list[object] = [record.exc_info[1] if record.exc_info else None, *arguments]
    seen: set[int] = set()
    while left:
        problem = left.pop()
        if isinstance(problem, BaseException) and id(problem) not in seen:
            seen.add(id(problem))
            left += [problem.__cause__, problem.__context__]
            yield problem
