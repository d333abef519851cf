"""JSON as the RFC has it: Python's reader would take NaN and Infinity too, and dive into any depth."""

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Read a document, or raise ValueError with what is wrong."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
