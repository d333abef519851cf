"""What the data source can be told, read once; what is unknown is refused by name."""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_ingest.problems import LoadProblem

KNOWN = {
    "url": "the database, as postgresql://user:password@host:5432/hook0",
    "application_id": "whose events these are",
    "load_id": "the load's own id; a stream needs one, and goes on with it",
    "columns": 'which column holds which field, as JSON: {"event_type": "kind"}',
    "values": 'fields that are the same in all rows, as JSON: {"labels": {"shop": "1"}}',
    "place": "a column that sorts the input",
    "refused": "what becomes of rows that will not do: `fail` (the default) fails the load, `skip` leaves them out",
    "per_second": "events to release per second; without it, as fast as live traffic allows",
    "source": "what the load is called where people see it",
    "actor": "who loads, where people see it",
    "block": "the job's own: a column that sorts the blocks of the input",
    "unreadable": "the job's own: a column with what could not be read",
    "run": "the job's own: the run that has opened the load, and merges it itself",
}


@dataclass(frozen=True)
class Options:
    url: str
    application_id: uuid.UUID
    load_id: uuid.UUID | None
    columns: Mapping[str, str]
    values: Mapping[str, str]
    place: str | None
    block: str | None
    unreadable: str | None
    skip_refused: bool
    per_second: int | None
    source: str
    actor: str
    run: uuid.UUID | None


def read_options(given: Mapping[str, str]) -> Options:
    """The options of a DataFrame's writer, which knows no upper case in their names."""
    if unknown := sorted(set(given) - set(KNOWN) - {"path", "checkpointlocation"}):
        raise LoadProblem(f"There is no option {', '.join(unknown)}. There is: {', '.join(KNOWN)}.")
    if missing := [name for name in ("url", "application_id") if not given.get(name)]:
        raise LoadProblem("; ".join(f"The option {name} is missing: {KNOWN[name]}" for name in missing) + ".")
    refused = given.get("refused", "fail")
    if refused not in {"fail", "skip"}:
        raise LoadProblem(f"The option refused must be fail or skip, not {refused!r}.")
    return Options(
        url=given["url"],
        application_id=_parsed(given, "application_id", uuid.UUID, "a UUID"),
        load_id=_parsed(given, "load_id", uuid.UUID, "a UUID"),
        columns=_strings(given, "columns"),
        values=_strings(given, "values"),
        place=given.get("place"),
        block=given.get("block"),
        unreadable=given.get("unreadable"),
        skip_refused=refused == "skip",
        per_second=_parsed(given, "per_second", positive, "a whole number from 1 on"),
        source=given.get("source", "")[:1000],
        actor=given.get("actor", "")[:150],
        run=_parsed(given, "run", uuid.UUID, "a UUID"),
    )


def _parsed(given: Mapping[str, str], name: str, parse: Callable[[str], Any], wanted: str) -> Any:
    value = given.get(name)
    if not value:
        return None
    try:
        return parse(value)
    except ValueError:
        raise LoadProblem(f"The option {name} must be {wanted}, not {value!r}.") from None


def positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def _strings(given: Mapping[str, str], name: str) -> dict[str, str]:
    """An object; what is no string in it stays JSON."""
    try:
        found = json.loads(given.get(name) or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise LoadProblem(f"The option {name} must be a JSON object: {KNOWN[name]}.")
    return {field: value if isinstance(value, str) else json.dumps(value) for field, value in found.items()}
