"""Hard SQL lies in files, one statement each, in the folder `sql` of its app."""

from functools import cache
from pathlib import Path

QUEUE = Path(__file__).parent / "sql"


@cache
def statement(name: str, folder: Path = QUEUE) -> str:
    """The text of `<name>.sql`; the queue's, unless another folder is named."""
    return (folder / f"{name}.sql").read_text()
