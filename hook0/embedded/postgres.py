"""The embedded PostgreSQL: a private cluster in the home folder, started by its own binaries.

The server refuses to run as root. When we are root, an account that every system has runs it
and its tools; nothing is created in the system and no permission of a folder above is changed.
"""

import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex

import psycopg

from hook0.embedded import accounts, binaries
from hook0.embedded.server import Server
from hook0.installation import write_private
from hook0.probes import free_port
from hook0.programs import Account, Program, StartError, identify

SOCKET_FOLDER_LIMIT = 103 - len("/.s.PGSQL.65535")  # a socket's path has 103 bytes (107 on Linux)

# For one small machine that the workers, the API and the receivers share with it.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "min_wal_size": "256MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "synchronous_commit": "on",
    "autovacuum_naptime": "5s",  # the queue's tables turn over faster than the default minute
    "idle_in_transaction_session_timeout": "30s",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_lock_waits": "on",
}
# The C library gives memory back to the system after each large statement, and each page of it costs a fault when the
# next one wants it again: a tenth of a batch of events. Another C library than glibc takes no notice.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(32 << 20), "MALLOC_MMAP_THRESHOLD_": str(16 << 20)}
ACCESS = "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True)
class Cluster:
    """A data folder, the binaries it was made by, and the account that owns it."""

    data: Path
    binaries: Path
    account: Account | None

    def create(self) -> None:
        """Make the database `hook0` and the role that owns it; all of it or nothing."""
        draft = Cluster(self.data.with_suffix(".new"), self.binaries, self.account)
        accounts.make_folder(draft.data, self.account)
        draft.run("initdb", "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions", "-U", "postgres", "-A", "reject")
        (draft.data / "pg_hba.conf").write_text(ACCESS)
        draft.sql("CREATE ROLE hook0 LOGIN CREATEDB", "GRANT pg_monitor TO hook0")
        if self.preload:
            draft.sql("CREATE EXTENSION pg_stat_statements")
        draft.sql("CREATE DATABASE hook0 OWNER hook0")
        draft.data.rename(self.data)

    @property
    def preload(self) -> str:
        return "pg_stat_statements" if binaries.has_library(self.binaries, "pg_stat_statements") else ""

    def run(self, tool: str, *arguments: str, script: str = "") -> str:
        return accounts.run(self.account, [self.binaries / tool, "-D", self.data, *arguments], script)

    def sql(self, *statements: str) -> None:
        """Run statements without a server, as the superuser, who cannot log in to one."""
        script = "".join(f"{statement};\n" for statement in statements)
        accounts.run(
            self.account,
            [self.binaries / "postgres", "--single", "-D", self.data, "-c", "exit_on_error=on", "template1"],
            script,
        )

    def end_earlier_run(self) -> None:
        """Stop the server that a half-dead run has left on this folder, or forget its stale pid file."""
        pid_file = self.data / "postmaster.pid"
        if not pid_file.exists():
            return
        if self._is_served(pid_file):
            self.run("pg_ctl", "stop", "-m", "fast", "-w")
        pid_file.unlink(missing_ok=True)

    def _is_served(self, pid_file: Path) -> bool:
        try:
            self.run("pg_ctl", "status")
            pid = int(pid_file.read_text().split("\n", 1)[0])
        except (StartError, ValueError):
            return False
        # pg_ctl believes any process that has the number by now; /proc, where there is one, knows better.
        return not Path("/proc/self").exists() or str(self.data) in getattr(identify(pid), "argv", [])


def prepare(home: Path, chosen_binaries: str = "") -> Server:
    """A PostgreSQL on a free port of this machine alone, its data and its password kept in `home`."""
    cluster, place, note = _settle(home, binaries.find(chosen_binaries))
    password_file = home / "postgres_password"
    if not cluster.data.exists():
        cluster.create()
        password_file.unlink(missing_ok=True)
    cluster.end_earlier_run()
    if not password_file.exists():
        password = token_hex(16)
        cluster.sql(f"ALTER ROLE hook0 PASSWORD '{password}'")
        write_private(password_file, password)

    port = free_port()
    settings = SETTINGS | {
        "port": str(port),
        "unix_socket_directories": _socket_folder(home, place, cluster.account),
        "shared_preload_libraries": cluster.preload,
    }
    arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    url = f"postgresql://hook0:{password_file.read_text()}@127.0.0.1:{port}/hook0"
    program = Program(
        "postgres",
        (str(cluster.binaries / "postgres"), "-D", str(cluster.data), *arguments),
        env=accounts.clean_environment() | MEMORY,
        account=cluster.account,
        stop=signal.SIGINT,  # ends the sessions, then itself
        kill=signal.SIGQUIT,  # at once; what was committed is recovered at the next start
        address=f"127.0.0.1:{port}",
        is_ready=partial(_accepts, url),
        quiet=True,
    )
    return Server(program, url, note)


def _settle(home: Path, found: Path) -> tuple[Cluster, Path, str]:
    """Where binaries, data and socket must lie so that the account which runs them reaches all three."""
    account = accounts.unprivileged()
    place, note = home, ""
    if account and not accounts.reaches(account, home):
        place = accounts.outside(home)
        note = f"user {account.pw_name} cannot enter {home}: the data is in {place}"
    if account and not accounts.reaches(account, found / "postgres"):
        found = binaries.copy(found, accounts.outside(home), account)
    if not accounts.reaches(account, place, found / "postgres"):
        raise StartError(f"PostgreSQL cannot be run from {found} in {place}. {binaries.REMEDIES}.")
    return Cluster(place / f"postgres-{binaries.major(found)}", found, account), place, note


def _socket_folder(home: Path, place: Path, account: Account | None) -> str:
    """A folder for the unix socket; none where the path of every such folder is unfit for one."""
    folder = place / "run" / "postgres"
    if not _fits_a_socket(folder):
        folder = accounts.outside(home) / "postgres"
    if not _fits_a_socket(folder):
        return ""
    folder.parent.mkdir(exist_ok=True)
    return str(accounts.make_folder(folder, account))


def _fits_a_socket(folder: Path) -> bool:
    # Clients and the server take several folders or hosts, separated by commas.
    return len(bytes(folder)) <= SOCKET_FOLDER_LIMIT and "," not in str(folder)


def _accepts(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True
