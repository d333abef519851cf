import os
import socket
from pathlib import Path

import pytest

from hook0.programs import StartError
from hook0.startup import check_ports, claimed, secret_key


def test_a_home_is_made_with_all_its_folders_and_claimed_by_this_process(tmp_path: Path) -> None:
    home = tmp_path / "some" / "home"
    with claimed(home):
        assert (home / "log").is_dir()
        assert (home / "run" / "lock").read_text() == f"{os.getpid()}\n"
        with pytest.raises(StartError, match=f"already runs in {home}, as process {os.getpid()}"), claimed(home):
            pytest.fail("it must not be claimed twice")
    with claimed(home):
        pass


def test_a_home_that_is_no_folder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    with pytest.raises(StartError) as refused, claimed(home):
        pytest.fail("it must not be claimed")
    assert str(refused.value).startswith(f"The home folder {home} cannot be used: ")
    assert "HOOK0_HOME=" in str(refused.value)


def test_a_home_that_cannot_be_written_is_refused_with_what_to_do() -> None:
    # Root writes where the mode forbids it, but nobody makes a folder in /proc.
    with (
        pytest.raises(StartError, match=r"^The home folder /proc/hook0 cannot be used: .*HOOK0_HOME="),
        claimed(Path("/proc/hook0")),
    ):
        pytest.fail("it must not be claimed")


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError) as refused:
            check_ports("127.0.0.1", {port: "HOOK0_PORT=8010"})
    assert str(refused.value) == (
        f"Port {port} is in use by another program. Free it or choose another: HOOK0_PORT=8010 make run"
    )
    check_ports("127.0.0.1", {port: "HOOK0_PORT=8010"})


def test_an_address_that_is_not_ours_is_told_from_a_port_in_use() -> None:
    with pytest.raises(StartError, match=r"^HOOK0_BIND=192\.0\.2\.1: port 8000 cannot be used: "):
        check_ports("192.0.2.1", {8000: "HOOK0_PORT=8010"})


def test_the_secret_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    key = secret_key(tmp_path)
    assert len(key) >= 50
    assert secret_key(tmp_path) == key
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
