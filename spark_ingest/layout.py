"""Which column holds which field of an event."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spark_ingest.problems import LoadProblem
from spark_ingest.rules import Refused, checks

FIELDS = (*checks(), "payload")
REQUIRED = {"event_type", "payload", "labels", "occurred_at"}
# Types of Spark's, as it writes them.
TEXT = r"string|varchar|char|tinyint|smallint|int$|bigint|boolean|decimal"
KINDS = {
    "payload": r"string|varchar|char|binary|map|struct|array",
    "labels": r"string|varchar|map|struct",
    "metadata": r"string|varchar|map|struct",
    "occurred_at": r"string|varchar|timestamp|date",
    "deliver_at": r"string|varchar|timestamp|date",
    "backoff_schedule": r"string|varchar|array",
    "keys_if_undelivered": r"string|varchar|array<array<",
}


@dataclass(frozen=True)
class Layout:
    """Fields by columns, and by values that all rows share; each field that is left out of both is null."""

    columns: Mapping[str, str]
    constants: Mapping[str, str]
    place: str | None = None  # a column that sorts the input
    block: str | None = None  # a column that sorts the blocks of the input; rows of one follow each other
    unreadable: str | None = None  # a column that holds what the reader could not read


def layout(
    columns: Mapping[str, str],
    *,
    mapped: Mapping[str, str],
    constants: Mapping[str, str],
    place: str | None = None,
    block: str | None = None,
    unreadable: str | None = None,
) -> Layout:
    """What columns of these types hold: a field is in that of its name, unless it is mapped or the same in all rows."""
    for field in (*mapped, *constants):
        if field not in FIELDS:
            raise LoadProblem(f"An event has no field {field!r}. It has: {', '.join(FIELDS)}.")
    if twice := mapped.keys() & constants.keys():
        raise LoadProblem(f"{', '.join(sorted(twice))}: give a column or a value for all rows, not both.")
    named = [*mapped.values(), *filter(None, (place, block, unreadable))]
    if missing := [name for name in named if name not in columns]:
        raise LoadProblem(f"There is no column {', '.join(missing)}. There is: {', '.join(columns)}.")
    found = {field: field for field in FIELDS if field in columns and field not in constants} | dict(mapped)
    if missing := sorted(REQUIRED - found.keys() - constants.keys()):
        raise LoadProblem(
            f"There is no column for {', '.join(missing)}. Name one, as in {missing[0]}=COLUMN, or give a value for "
            f"all rows. There is: {', '.join(columns)}."
        )
    for field, name in found.items():
        if not re.match(KINDS.get(field, TEXT), columns[name]):
            raise LoadProblem(f"The column {name} is of the type {columns[name]}, which cannot be a {field}.")
    return Layout(found, _checked(constants), place, block, unreadable)


def _checked(constants: Mapping[str, str]) -> dict[str, str]:
    for field, value in constants.items():
        if check := checks().get(field):
            try:
                check(value)
            except Refused as why:
                raise LoadProblem(f"{field}: {why}: {value!r}.") from None
    return dict(constants)
