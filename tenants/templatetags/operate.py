"""What our templates say of times, ids and states."""

from django import template

from tenants import cells

register = template.Library()
register.filter("moment", cells.moment)
register.filter("short", cells.short)
register.filter("copyable", cells.copyable)
register.filter("pretty", cells.pretty)

TONES: dict[str, cells.Tone] = {
    "successful": "good", "failed": "bad", "in_progress": "busy", "pending": "busy", "waiting": "busy",
    "running": "busy", "done": "good", "cancelled": "off", "loading": "busy", "merging": "busy", "ready": "busy",
    "releasing": "busy",
}  # fmt: skip


@register.filter
def state(value: str) -> str:
    """A state as a badge."""
    return cells.badge(value.replace("_", " "), TONES.get(value, "off"))
