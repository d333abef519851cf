"""How long the pages of the admin take, over tables that are large."""

import time
from collections.abc import Iterator

from django.conf import settings

from tenants.staff import EVERYWHERE, OPERATORS
from tests.admin.conftest import make_person
from tests.bench.scenes import Row
from tests.bench.stage import Stage
from tests.plans.admin_pages import addresses, fill

MOST_SECONDS = 0.3
LOOKS = 3


def slowest_pages(stage: Stage, *, rows: int, shown: int = 3) -> Iterator[Row]:
    """The slowest pages, as an operator who sees everything gets them; the best of some looks at each."""
    settings.ALLOWED_HOSTS = ["testserver"]
    stage.empty()
    fill(rows)
    operator = make_person("olga", OPERATORS, EVERYWHERE)
    took = {name: min(_look(operator, address) for _ in range(LOOKS)) for name, address in addresses()}
    for name in sorted(took, key=took.__getitem__)[-shown:]:
        ratio = took[name] / MOST_SECONDS
        what = f"admin at {rows:,} attempts: {name}"
        yield Row(what, took[name] * 1000, "ms", "300 ms", ratio, 1.0, at_most=True)


def _look(operator, address: str) -> float:
    began = time.perf_counter()
    assert operator.get(address).status_code == 200, address
    return time.perf_counter() - began
