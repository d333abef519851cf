"""The statements of the queue, one file each in `sql/`."""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """The text of `sql/<name>.sql`."""
    return (_FOLDER / f"{name}.sql").read_text()
