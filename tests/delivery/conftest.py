import pytest

from tenants.models import Application
from tests.factories import make_application


@pytest.fixture
def application(transactional_db: None) -> Application:
    """Committed, because pumps and other connections are to see it."""
    return make_application()
