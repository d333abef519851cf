from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from hook0.installation import write_private
from hook0.programs import Program


@dataclass(frozen=True)
class Server:
    """An embedded service that is ready to be started, and where it will serve."""

    program: Program
    url: str
    note: str = ""


def kept_password(path: Path) -> str:
    """The password in this file; a new one where there is none."""
    if not path.exists():
        write_private(path, token_hex(16))
    return path.read_text()
