"""Log lines, for people and for machines. Both say which request they belong to."""

import json
import logging
from datetime import UTC, datetime

from hook0.request_ids import request_id


class Line(logging.Formatter):
    """For people: `WARNING delivery.doorbell: what happened [request id]`."""

    def __init__(self) -> None:
        super().__init__("{levelname:<7} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        return f"{line} [{request_id.get()}]" if request_id.get() else line


class Json(logging.Formatter):
    """For machines: an object on each line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            entry["request_id"] = request_id.get()
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)
