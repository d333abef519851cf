"""What must hold before anything starts: a home folder that is ours alone, and free ports."""

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe

from hook0.installation import SECRET_KEY, read_secret_key, write_private
from hook0.probes import try_port
from hook0.programs import StartError


@contextmanager
def claimed(home: Path) -> Iterator[None]:
    """Keep the home folder for this process; the lock goes with the process, however it ends."""
    with open_home(home).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartError(
                f"hook0 already runs in {home}, as process {lock.read().strip()}. "
                "Stop that one, or give this one a folder and ports of its own: "
                "HOOK0_HOME=~/hook0-second HOOK0_PORT=8010 make run"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def open_home(home: Path) -> Path:
    """Make the folders of an installation where they are missing; answers its lock file."""
    try:
        for folder in (home, home / "log", home / "run", home / "static"):
            folder.mkdir(parents=True, exist_ok=True)
        lock = home / "run" / "lock"
        lock.touch()
        if not os.access(home, os.W_OK):
            raise PermissionError(0, "it is read-only")
    except OSError as problem:
        raise StartError(
            f"The home folder {home} cannot be used: {problem.strerror}. "
            "Mend that or choose another: HOOK0_HOME=~/hook0 make run"
        ) from None
    return lock


def check_ports(host: str, ports: Mapping[int, str]) -> None:
    """Refuse a port that cannot be had; `ports` says of each what chooses another."""
    for port, remedy in ports.items():
        try:
            try_port(host, port)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise StartError(f"HOOK0_BIND={host}: port {port} cannot be used: {problem.strerror}.") from None
            raise StartError(
                f"Port {port} is in use by another program. Free it or choose another: {remedy} make run"
            ) from None


def secret_key(home: Path) -> str:
    """The key of this installation, made at its first start."""
    if not read_secret_key(home):
        write_private(home / SECRET_KEY, token_urlsafe(48))
    return read_secret_key(home)
