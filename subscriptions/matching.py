"""Which names of event types a subscription may list, and what they match."""

from collections.abc import Iterable

WILDCARD = ".*"


def is_wildcard(name: str) -> bool:
    return name.endswith(WILDCARD)


def like_pattern(name: str) -> str:
    """What SQL's LIKE finds the event types by that a name stands for."""
    escaped = name.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"{escaped[:-1]}%" if is_wildcard(name) else escaped


def names_for(event_type: str) -> list[str]:
    """What a subscription may list to get events of this type; `fan_out.sql` makes the same."""
    parts = event_type.split(".")
    return [event_type, *(".".join(parts[:count]) + WILDCARD for count in range(1, len(parts)))]


def matches(event_type: str, wanted: Iterable[str]) -> bool:
    """Whether a subscription to `wanted` gets events of this type; `fan_out.sql` decides the same."""
    return any(event_type.startswith(name[:-1]) if is_wildcard(name) else event_type == name for name in wanted)
