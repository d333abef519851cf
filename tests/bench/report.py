"""The report: a table in the terminal, JSON, and a plot."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.scenes import Row

WIDTH, LINE, LEFT = 900, 26, 420
GOOD, BAD = "#3a7d44", "#b3261e"
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif"
     font-size="13"><rect width="100%" height="100%" fill="white"/>"""


def line(row: Row) -> str:
    ratio = f"{row.ratio:8.2f} x {row.yardstick}" if row.ratio is not None else ""
    verdict = {None: "", True: "ok", False: "MISSED"}[row.ok]
    bar = "" if row.bar is None else f"(bar: {'at most' if row.at_most else 'at least'} {row.bar:g})"
    return f"{row.what:<44} {row.value:>10,.1f} {row.unit:<13} {ratio:<32} {bar:<22} {verdict}".rstrip()


def write(folder: Path, rows: Sequence[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.json").write_text(json.dumps([asdict(row) | {"ok": row.ok} for row in rows], indent=2) + "\n")
    (folder / "bench.svg").write_text(plot([row for row in rows if row.bar is not None]))


def plot(rows: Sequence[Row]) -> str:
    """How far each figure is from its bar, which is the line in the middle; to the right is better."""
    height, room = LINE * (len(rows) + 2), WIDTH - LEFT - 20
    parts = [SVG.format(width=WIDTH, height=height)]
    for index, row in enumerate(rows):
        assert row.ratio is not None
        assert row.bar is not None
        margin = row.bar / row.ratio if row.at_most else row.ratio / row.bar
        length, colour = min(1.0, margin / 4) * room, GOOD if row.ok else BAD
        top = LINE * (index + 1)
        parts += [
            f'<text x="{LEFT - 10}" y="{top + 14}" text-anchor="end">{row.what} / {row.yardstick}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{length:.0f}" height="18" fill="{colour}"/>',
            f'<text x="{LEFT + 6}" y="{top + 14}" fill="white">{margin:.2f} of its bar</text>',
        ]
    bar = LEFT + room / 4
    parts.append(f'<line x1="{bar}" x2="{bar}" y1="10" y2="{height - 10}" stroke="black"/></svg>\n')
    return "\n".join(parts)
