"""Charts as small SVG, drawn here: nothing to load, and a sentence for who cannot see them."""

from collections.abc import Iterable, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from delivery.tallies import Slot

WIDTH, HEIGHT = 720, 120


def bars(slots: Sequence[Slot], *, height: int = HEIGHT, label: str) -> SafeString:
    """What ended in each slot: successes from the ground up, failures on top."""
    most = max((slot.succeeded + slot.failed for slot in slots), default=0) or 1
    step = WIDTH / max(1, len(slots))
    return format_html(
        '<svg class="drawn" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>',
        f"{label}: {sum(s.succeeded for s in slots)} succeeded, {sum(s.failed for s in slots)} failed",
        WIDTH,
        height,
        format_html_join("", "{}", ((_bar(slot, n * step, step, height, most),) for n, slot in enumerate(slots))),
    )


def _bar(slot: Slot, x: float, step: float, height: int, most: int) -> SafeString:
    good, bad = (height * amount / most for amount in (slot.succeeded, slot.failed))
    wide = max(1.0, step - 1)
    return format_html(
        '<g><title>{} UTC: {} succeeded, {} failed</title><rect class="hit" x="{}" y="0" width="{}" height="{}"/>'
        '<rect class="good" x="{}" y="{}" width="{}" height="{}"/>'
        '<rect class="bad" x="{}" y="{}" width="{}" height="{}"/></g>',
        f"{slot.at:%H:%M}", slot.succeeded, slot.failed, _px(x), _px(wide), height,
        _px(x), _px(height - good), _px(wide), _px(good),
        _px(x), _px(height - good - bad), _px(wide), _px(bad),
    )  # fmt: skip


def marks(values: Iterable[float | None], *, label: str, unit: str, most: float | None = None) -> SafeString:
    """A value for each slot that has one, below the most there can be, or else the greatest, which is named."""
    points = list(values)
    most = most or max((value for value in points if value is not None), default=0) or 1
    step = WIDTH / max(1, len(points))
    dots = (
        (_px(n * step), _px(HEIGHT - 4 - (HEIGHT - 8) * value / most), _px(max(1.0, step - 1)))
        for n, value in enumerate(points)
        if value is not None
    )
    return format_html(
        '<p class="legend">{} {}</p>'
        '<svg class="drawn" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>',
        f"{most:,}", unit, f"{label}, at most {most:,} {unit}", WIDTH, HEIGHT,
        format_html_join("", '<rect class="mark" x="{}" y="{}" width="{}" height="4"/>', dots),
    )  # fmt: skip


def _px(number: float) -> str:
    return f"{number:.1f}"
