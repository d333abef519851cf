"""Pieces of the admin's pages: times, ids and states as people read them."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

Tone = Literal["good", "busy", "bad", "off"]

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def span(length: timedelta) -> str:
    """A length of time in its largest unit: `3 min`."""
    seconds = abs(length.total_seconds())
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return "0 s"


def moment(at: datetime | None) -> str:
    """How long ago, or until when; the page's script puts the reader's own time beside it."""
    if at is None:
        return "–"
    length = datetime.now(UTC) - at
    text = f"{span(length)} ago" if length >= timedelta(0) else f"in {span(length)}"
    return format_html('<time datetime="{}" title="{} UTC">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}", text)


def copyable(value: Any, text: str = "") -> str:
    """An id that a click copies. `text` is what is shown of it."""
    if value in {None, ""}:
        return "–"
    return format_html(
        '<span class="copyable"><code>{}</code><button type="button" data-copy="{}" title="Copy {}">'
        '<span class="material-symbols-outlined" aria-hidden="true">content_copy</span>'
        '<span class="sr-only">Copy {}</span></button></span>',
        text or value, value, value, value,
    )  # fmt: skip


def short(value: Any) -> str:
    """The end of an id, which tells it from others, to copy the whole."""
    return copyable(value, f"…{str(value)[-8:]}") if value else "–"


def badge(text: str, tone: Tone, title: str = "") -> SafeString:
    return format_html('<span class="badge badge-{}" title="{}">{}</span>', tone, title, text)


def link(address: str, text: Any) -> SafeString:
    return format_html('<a class="inline-link" href="{}">{}</a>', address, text)


def pretty(text: str) -> SafeString:
    """What a program wrote, as it wrote it: escaped, and indented where it is JSON."""
    return format_html('<pre class="written" tabindex="0">{}</pre>', text or "(empty)")


def progress(done: int, total: int | None, *, is_moving: bool) -> SafeString:
    """How far a long job has come. While it moves, the page's script looks again."""
    share = round(100 * done / total) if total else 0 if is_moving else 100
    return format_html(
        '<progress max="100" value="{}" aria-label="{}%"{}></progress> {} of {}',
        share, share, mark_safe(" data-moving") if is_moving else "", done, "?" if total is None else total,
    )  # fmt: skip
