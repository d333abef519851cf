"""docs/reference/metrics.md against what is counted and what the tables say."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now
from prometheus_client import Counter, Histogram

from delivery.jobs.queues import create_queue
from delivery.models import Lane
from events.models import BulkLoad
from monitoring import counters
from monitoring.tables import TableCollector
from tests.factories import make_application, make_fifo, publish

PAGE = (Path(settings.BASE_DIR) / "docs" / "reference" / "metrics.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", re.MULTILINE)


def documented():
    return {
        name: (kind, {label.strip("` ") for label in labels.split(",") if label}, meaning)
        for name, kind, labels, meaning in ROW.findall(PAGE)
    }


@pytest.mark.django_db(transaction=True)
def test_the_page_has_every_metric_with_its_labels_and_no_other():
    application = make_application()
    make_fifo(application)
    publish(application)
    BulkLoad.objects.create(application=application)
    create_queue(application.id, "jobs")
    Lane.objects.update(since=Now() - timedelta(minutes=1))
    tables = TableCollector()
    tables.look()
    expected = {
        family.name: (family.type, set(family.samples[0].labels), family.documentation) for family in tables.collect()
    }
    for metric in vars(counters).values():
        if isinstance(metric, Counter | Histogram):
            (family,) = metric.describe()
            name = f"{family.name}_total" if family.type == "counter" else family.name
            expected[name] = (family.type, set(metric._labelnames), family.documentation)
    assert documented() == expected
