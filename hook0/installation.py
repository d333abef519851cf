"""What an installation keeps in its home folder: the credentials that `up` writes and tools read."""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

CREDENTIALS = "credentials.json"
SECRET_KEY = "secret_key"  # noqa: S105 - the name of its file


@dataclass(frozen=True)
class Credentials:
    """All that a client, an operator or a command beside the product needs, as `credentials.json` has it."""

    api_url: str = ""
    admin_url: str = ""
    admin_username: str = ""
    admin_password: str = ""
    organization_id: str = ""
    service_token: str = ""
    application_id: str = ""
    application_secret: str = ""
    database_url: str = ""
    broker_url: str = ""
    metrics_url: str = ""
    stream_url: str = ""
    receiver_url: str = ""


def read_credentials(home: Path) -> Credentials:
    """The credentials of the installation in `home`; all empty where there is none."""
    try:
        stored = json.loads((home / CREDENTIALS).read_text())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Credentials()
    except ValueError as problem:
        raise ValueError(f"{home / CREDENTIALS} is not JSON ({problem}): mend it or remove it") from None
    if not isinstance(stored, dict):
        raise ValueError(f"{home / CREDENTIALS} is not an object: mend it or remove it")
    known = {field.name for field in fields(Credentials)}
    return Credentials(**{name: value for name, value in stored.items() if name in known})


def write_credentials(home: Path, credentials: Credentials) -> Path:
    return write_private(home / CREDENTIALS, json.dumps(asdict(credentials), indent=2) + "\n")


def read_secret_key(home: Path) -> str:
    path = home / SECRET_KEY
    try:
        return path.read_text().strip()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return ""


def write_private(path: Path, content: str) -> Path:
    """Write a file that nobody else can read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(content)
    return draft.replace(path)
