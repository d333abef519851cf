"""Counts that end somewhere: nobody reads on, and it would take longer."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

MOST_COUNTED = 10_000


@dataclass(frozen=True)
class Count:
    """How many there are, up to a bound."""

    amount: int

    def __str__(self) -> str:
        return f"{self.amount:,}" if self.amount < MOST_COUNTED else f"{MOST_COUNTED:,} or more"

    def __bool__(self) -> bool:
        return self.amount > 0


def count(rows: QuerySet[Any]) -> Count:
    return Count(rows.order_by()[:MOST_COUNTED].count())
