"""Examples for the OpenAPI document: one of each body and answer, whatever operations it belongs to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())


def add_examples(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Put them beside the schemas that they are examples of."""
    for item in result["paths"].values():
        for operation in item.values():
            for media_type in _bodies(operation):
                example = _example(media_type["schema"])
                if example is not None:
                    media_type["example"] = example
    return result


def _bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for body in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from (media_type for media_type in body.get("content", {}).values() if "examples" not in media_type)


def _example(schema: dict[str, Any]) -> Any:
    if "items" in schema:
        example = _example(schema["items"])
        return None if example is None else [example]
    return EXAMPLES.get(schema.get("$ref", "").rpartition("/")[2], next(iter(schema.get("examples", ())), None))
