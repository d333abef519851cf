"""Who runs PostgreSQL when we are root, and where that account can reach its files."""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hook0.programs import Account, StartError

NAMES = ("postgres", "nobody")


def unprivileged() -> Account | None:
    """An account that exists already, to run what refuses root; None where we are not root."""
    if os.geteuid() != 0:
        return None
    for name in NAMES:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise StartError(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(NAMES)} to run it as. "
        "Set DATABASE_URL to a database of yours, or start this as another user."
    )


def run(account: Account | None, argv: Iterable[str | Path], script: str = "") -> str:
    """The output of a tool that was run as `account`."""
    argv = [str(word) for word in argv]
    try:
        result = subprocess.run(
            argv,
            input=script,
            env=clean_environment(),
            cwd="/",
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            start_new_session=True,  # out of reach of the terminal's Ctrl-C
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as problem:
        raise StartError(f"{argv[0]} cannot be run: {problem.strerror}") from None
    if result.returncode:
        raise StartError(f"{Path(argv[0]).name} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def clean_environment() -> dict[str, str]:
    """Ours, without what somebody has set for a psql of his own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def reaches(account: Account | None, *paths: Path) -> bool:
    """Whether `account` gets through all the folders above, to run or to enter these."""
    try:
        for path in paths:
            run(account, ["/bin/sh", "-c", 'test -x "$1"', "sh", path])
    except StartError:
        return False
    return True


def make_folder(path: Path, account: Account | None) -> Path:
    """A new and empty folder that is `account`'s alone."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    hand_over(path, account)
    return path


def hand_over(path: Path, account: Account | None) -> None:
    if account:
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def outside(home: Path) -> Path:
    """The folder under the system's temporary area that stands in for this home; always the same one."""
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"hook0-{os.geteuid()}-{name}"
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o711)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise StartError(f"{folder} belongs to somebody else. Remove it, or set TMPDIR to another folder.")
    return folder
