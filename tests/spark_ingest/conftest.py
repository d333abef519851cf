import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from pyspark.sql import DataFrame, SparkSession

from events.models import BulkLoad, BulkLoadChunk, Event
from spark_ingest import java, loads, merging, register
from spark_ingest.database import connect
from tenants.models import Application
from tests.factories import make_application


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for the whole run; a task that fails is tried again."""
    java.provide_java()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it says good-bye when pytest has closed its streams
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    register(session)
    yield session
    session.stop()


@pytest.fixture
def url(transactional_db: None) -> Iterator[str]:
    """The database of the test, without what a test before has staged."""
    of = connection.settings_dict
    yield f"postgresql://{of['USER']}:{of['PASSWORD']}@{of['HOST']}:{of['PORT']}/{of['NAME']}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('DROP TABLE bulk_load_stage.%I', tablename) FROM pg_tables "
            "WHERE schemaname = 'bulk_load_stage'"
        )
        for (drop,) in cursor.fetchall():
            cursor.execute(drop)


@pytest.fixture
def application(transactional_db: None) -> Application:
    return make_application()


Save = Callable[..., BulkLoad]


@pytest.fixture
def save(url: str, application: Application) -> Save:
    """Writes a DataFrame as a user does; the load as it is then."""

    def save(rows: DataFrame, **options: Any) -> BulkLoad:
        given = {"url": url, "application_id": str(application.id), "load_id": str(uuid.uuid4())}
        given |= {name: str(value) for name, value in options.items()}
        rows.write.format("hook0").options(**given).mode("append").save()
        return BulkLoad.objects.get(id=given["load_id"])

    return save


@pytest.fixture
def stage(url: str, application: Application) -> Callable[..., loads.Load]:
    """All but the merge, which then runs in this process."""

    def stage(rows: DataFrame, **options: Any) -> loads.Load:
        request = loads.Request(load_id=uuid.uuid4(), application_id=application.id)
        with connect(url, purpose="test") as database:
            opened = loads.open_load(database, request)
        given = {"url": url, "application_id": str(application.id), "load_id": str(opened.id), "run": str(opened.run)}
        rows.write.format("hook0").options(**given, **options).mode("append").save()
        return opened

    return stage


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven events, so that there are many."""
    monkeypatch.setattr(merging, "CHUNK", 7)


def in_order(load_id: uuid.UUID) -> list[str]:
    """The payloads of a load as they are released."""
    keys = [key for chunk in BulkLoadChunk.objects.filter(load_id=load_id).order_by("number") for key in chunk.events]
    payloads = dict(Event.objects.filter(id__in=keys).values_list("id", "payload"))
    assert len(keys) == len(payloads)
    return [bytes(payloads[key]).decode() for key in keys]


def staging_tables() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'bulk_load_stage'")
        return int(cursor.fetchone()[0])
