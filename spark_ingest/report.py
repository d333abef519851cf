"""What a load has done, or would do."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from spark_ingest.loads import Load


@dataclass(frozen=True)
class Report:
    load_id: str
    state: str
    rows_read: int
    loaded: int
    duplicate: int
    quarantined: int
    reasons: Mapping[str, int]
    quarantine: str | None
    seconds: float
    rows_per_second: float


def what_is_left(abandoned: Load) -> str:
    if abandoned.state != "failed" or not abandoned.events_count:
        return f"Nothing of the load {abandoned.id} is left."
    return f"Of the load {abandoned.id}, these events stay, because they were replayed: {abandoned.events_count:,}."


def as_json(report: Report) -> str:
    return json.dumps(asdict(report))


def as_table(report: Report) -> str:
    figures = {"rows read": report.rows_read, "loaded": report.loaded, "duplicate": report.duplicate}
    lines = [f"{name:<16}{amount:>16,}" for name, amount in {**figures, "quarantined": report.quarantined}.items()]
    lines += [f"  {amount:>14,}  {why}" for why, amount in sorted(report.reasons.items(), key=lambda each: -each[1])]
    lines += [f"{'seconds':<16}{report.seconds:>16,.1f}", f"{'rows per second':<16}{report.rows_per_second:>16,.0f}"]
    if report.quarantine and report.quarantined:
        lines.append(f"Quarantined rows, with their reasons, are in {report.quarantine}")
    return "\n".join(lines)
