"""What programs wrote, made readable: JSON is indented, and what is no text is shown as bytes."""

import json
from contextlib import suppress

MOST = 100_000  # characters on a page


def indented(written: bytes) -> str:
    """As text; escaping is the template's."""
    try:
        text = written.decode()
    except UnicodeDecodeError:
        return f"{len(written)} bytes that are no text: {written[:500].hex(' ')}"
    with suppress(ValueError, RecursionError):  # not JSON, made to be deep, or half a pair of surrogates
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False).encode().decode()
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}\n… and {len(text) - MOST} characters more"
