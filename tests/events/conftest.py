import pytest

from events import release


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bulk loads are released by twos."""
    monkeypatch.setattr(release, "AT_FIRST", 2)
    monkeypatch.setattr(release, "AT_A_TIME", 2)
