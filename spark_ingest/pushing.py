"""Which of Spark's filters the database can be left with: pure, so that a table tells."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

DAY, MOMENT = timedelta(days=1), timedelta(microseconds=1)
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Narrowed:
    """What is read of the log: attempts that ended in an interval, of some applications, subscriptions; None is all."""

    since: datetime = FIRST
    until: datetime = LAST
    days: frozenset[date] | None = None
    applications: frozenset[uuid.UUID] | None = None
    subscriptions: frozenset[uuid.UUID] | None = None

    def part_on(self, day: date) -> tuple[datetime, datetime] | None:
        """What is read of a day, from when to before when; None is nothing."""
        if self.days is not None and day not in self.days:
            return None
        midnight = _midnight(day)
        since, until = max(self.since, midnight), min(self.until, midnight + DAY)
        return (since, until) if since < until else None


def narrow(filters: Sequence[Filter]) -> tuple[Narrowed, list[Filter]]:
    """What the filters leave, and those of them that Spark has to see to itself."""
    narrowed, left = Narrowed(), []
    for each in filters:
        further = _narrowed(narrowed, each)
        if further is None:
            left.append(each)
        else:
            narrowed = further
    return narrowed, left


def _narrowed(so_far: Narrowed, by: Filter) -> Narrowed | None:
    value = getattr(by, "value", None)
    match getattr(by, "attribute", ()), value:
        case ("ended_at",), datetime():  # one without a zone is in that of this machine, as Spark has it
            return _within(so_far, by, value.astimezone(UTC), MOMENT)
        case ("day",), date():
            return _within(so_far, by, _midnight(value), DAY)
        case ("day",), tuple() | list() if isinstance(by, In) and all(isinstance(each, date) for each in value):
            return replace(so_far, days=_both(so_far.days, frozenset(value)))
        case ("application_id",), _ if (ids := _ids(by)) is not None:
            return replace(so_far, applications=_both(so_far.applications, ids))
        case ("subscription_id",), _ if (ids := _ids(by)) is not None:
            return replace(so_far, subscriptions=_both(so_far.subscriptions, ids))
    return None


def _within(so_far: Narrowed, by: Filter, begins: datetime, lasts: timedelta) -> Narrowed | None:
    """Compared with something that lasts for a while: a day, or the least moment."""
    since, until = so_far.since, so_far.until
    match by:
        case EqualTo():
            since, until = max(since, begins), min(until, begins + lasts)
        case GreaterThanOrEqual():
            since = max(since, begins)
        case GreaterThan():
            since = max(since, begins + lasts)
        case LessThan():
            until = min(until, begins)
        case LessThanOrEqual():
            until = min(until, begins + lasts)
        case _:
            return None
    return replace(so_far, since=since, until=until)


def _ids(by: Filter) -> frozenset[uuid.UUID] | None:
    """UUIDs in the one form that the column has; others never match, which Spark finds out."""
    match by:
        case EqualTo(value=str() as value):
            values: Sequence[Any] = [value]
        case In(value=values):
            pass
        case _:
            return None
    try:
        ids = frozenset(uuid.UUID(value) for value in values)
    except (ValueError, TypeError, AttributeError):
        return None
    return ids if {str(each) for each in ids} == set(values) else None


def _both(known: frozenset[Any] | None, found: frozenset[Any]) -> frozenset[Any]:
    return found if known is None else known & found


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
