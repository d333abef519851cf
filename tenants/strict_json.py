"""JSON as the RFC has it: Python's reader would take NaN and Infinity too, and dive into any depth."""

import json
from typing import Any

import orjson


def loads(text: str | bytes) -> Any:
    """Read a document, or raise ValueError with what is wrong."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _loads_with_care(text)


def _loads_with_care(text: str | bytes) -> Any:
    """What the fast reader does not take: deep documents, halves of surrogate pairs, and what is no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
