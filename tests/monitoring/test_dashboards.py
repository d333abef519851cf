"""The dashboards as files: complete, in a sound shape, and about metrics that exist."""

import json
import subprocess
import uuid
from collections import Counter
from urllib.parse import parse_qsl

import pytest
from django.urls import resolve
from prometheus_client import REGISTRY

from monitoring import counters  # noqa: F401 - it makes the counters
from monitoring.dashboards import FOLDER, files
from monitoring.dashboards.subscription import LANES
from monitoring.gauges import GAUGES
from monitoring.own_series import OTHER
from monitoring.tables import TableCollector
from tenants.staff import EVERYWHERE, OPERATORS
from tests.admin.conftest import make_person
from tests.factories import make_application, make_fifo, publish
from tests.monitoring.watching import PART, alerts, filled_in, metrics_of, queries, rules, tool

UNITS = {"short", "s", "cps", "reqps", "percentunit", "bytes"}
DOCUMENTS = {name: json.loads(text) for name, text in files().items()}
PANELS = [
    pytest.param(document, panel, id=f"{name}: {panel['title']}")
    for name, document in DOCUMENTS.items()
    for panel in document["panels"]
]
panels = pytest.mark.parametrize(("document", "panel"), PANELS)
OF_TABLES = {
    "hook0_build_info",
    "hook0_database_up",
    "hook0_snapshot_timestamp_seconds",
    "hook0_snapshot_duration_seconds",
}


@pytest.fixture
def operator(transactional_db):
    return make_person("olga", OPERATORS, EVERYWHERE)


def known() -> set[str]:
    counted = {sample.name for family in REGISTRY.collect() for sample in family.samples}
    described = {f"{family.name}_total" if family.type == "counter" else family.name for family in REGISTRY.collect()}
    return {*counted, *described, *GAUGES, *OF_TABLES, *(rule["record"] for rule in rules("rules.yml"))}


def test_the_files_are_what_the_code_makes():
    written = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert written == files(), "run manage.py write_dashboards"


def test_there_are_six_and_each_is_itself():
    assert len(DOCUMENTS) == 6
    assert len({document["uid"] for document in DOCUMENTS.values()}) == 6
    assert len({document["title"] for document in DOCUMENTS.values()}) == 6


@pytest.mark.parametrize("name", DOCUMENTS)
def test_panels_have_numbers_titles_and_places_of_their_own(name):
    document = DOCUMENTS[name]
    for key in ("id", "title"):
        amounts = Counter(panel[key] for panel in document["panels"])
        assert amounts.most_common(1)[0][1] == 1, amounts
    taken = Counter(
        (x, y)
        for place in (panel["gridPos"] for panel in document["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert taken.most_common(1)[0][1] == 1
    assert max(x for x, _ in taken) < 24


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_asked_and_where_links_lead_can_be_chosen(name):
    variables = {each["name"]: each for each in DOCUMENTS[name]["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["admin"]["definition"] == "label_values(hook0_build_info, admin)"
    used = {word for word in ("subscription",) if f"${word}" in json.dumps(DOCUMENTS[name]["panels"])}
    assert used <= set(variables)


@panels
def test_a_panel_asks_says_and_measures(document, panel):
    assert panel["title"].endswith("?")
    assert panel["title"][0].isupper()
    assert panel["description"].endswith(".")
    assert len(panel["description"]) > 20
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["datasource"]["uid"] == "${datasource}"
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == "${datasource}"


@panels
def test_a_panel_leads_to_a_page_of_the_admin_that_exists(document, panel):
    ((link),) = panel["links"]
    path = link["url"].removeprefix("${admin}").partition("?")[0].replace("${subscription}", str(uuid.uuid4()))
    assert link["url"].startswith("${admin}/")
    assert resolve(f"/admin{path}").func.__name__ != "catch_all_view", path


def narrowed() -> list[str]:
    """Where links lead that ask for a part of a page alone, below the admin's address."""
    links = {link["url"] for document in DOCUMENTS.values() for panel in document["panels"] for link in panel["links"]}
    return sorted(link.removeprefix("${admin}") for link in links if "?" in link)


@pytest.mark.parametrize("address", narrowed())
def test_a_link_that_asks_for_a_part_of_a_page_gets_it(operator, address):
    """Django's admin takes parameters that narrow nothing, and so do ours."""
    path, _, query = address.replace("${subscription}", str(uuid.uuid4())).partition("?")
    answer = operator.get(f"/admin{path}?{query}")
    assert answer.status_code == 200, answer
    asked = dict(parse_qsl(query))
    if "cl" in answer.context:
        page = answer.context["cl"]
        assert asked.keys() <= {
            parameter
            for each in page.filter_specs
            for parameter in each.expected_parameters()
            if any(choice["selected"] for choice in list(each.choices(page))[1:])  # the first is all
        }
    else:
        filters = answer.context["filters"]
        assert filters.is_valid()
        assert asked.items() <= filters.cleaned_data.items()


def test_the_lanes_of_a_subscription_are_a_part_of_the_page(operator):
    application = make_application()
    asked, other = make_fifo(application), make_fifo(application)
    publish(application)
    page = operator.get(f"/admin{LANES.replace('${subscription}', str(asked.id))}").context["cl"]
    assert [lane.subscription_id for lane in page.result_list] == [asked.id]
    page = operator.get(f"/admin{LANES.replace('${subscription}', OTHER)}").context["cl"]
    assert {lane.subscription_id for lane in page.result_list} == {asked.id, other.id}


@pytest.mark.parametrize(
    ("where", "expression"),
    [
        *((f"{dashboard.uid}: {panel.title}", expression) for dashboard, panel, _, expression in queries()),
        *((alert["alert"], alert["expr"]) for alert in alerts()),
        *((rule["record"], rule["expr"]) for rule in rules("rules.yml")),
    ],
)
def test_an_expression_is_about_metrics_that_exist(where, expression):
    names = {name for name in metrics_of(expression) if name not in known()}
    assert {PART.sub("", name) for name in names} <= known(), where
    assert metrics_of(expression) or "ALERTS" in expression


@pytest.mark.django_db(transaction=True)
def test_what_the_tables_say_of_themselves_is_this():
    tables = TableCollector()
    tables.look()
    assert {family.name for family in tables.collect()} - set(GAUGES) == OF_TABLES


def test_promtool_can_read_every_expression(tmp_path):
    recorded = [
        {"record": f"panel:{number}", "expr": filled_in(expression)}
        for number, (_, _, _, expression) in enumerate(queries())
    ]
    file = tmp_path / "panels.json"  # which is YAML
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    checked = subprocess.run([tool("promtool"), "check", "rules", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(recorded)} rules found" in checked.stdout
