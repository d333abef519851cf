"""The counters of all processes of this machine, the dead ones included: a counter must not go back.

Each process has files of its own, named by its number. Those of the dead are merged into one, or every restart would
leave some for ever.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

GRAVE = "dead"


class MachineCounters(Collector):
    """What the processes that share a folder have counted. One of these per folder: it moves files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._collector = MultiProcessCollector(None, str(folder))  # type: ignore[no-untyped-call]
        self._lock = Lock()

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            bury(self._folder)
            metrics: list[Metric] = list(self._collector.collect())  # type: ignore[no-untyped-call]
        return metrics


def bury(folder: Path) -> None:
    """Add the counters of processes that are no more to those of the ones before."""
    graves: dict[str, list[Path]] = defaultdict(list)
    for file in folder.glob("*_*.db"):
        kind, _, process = file.stem.rpartition("_")
        if process.isdigit() and not _is_alive(int(process)):
            graves[kind].append(file)
    for kind, files in graves.items():
        grave = folder / f"{kind}_{GRAVE}.db"
        _merge([*files, *([grave] if grave.exists() else [])], grave)
        for file in files:
            file.unlink()


def _merge(files: list[Path], grave: Path) -> None:
    new = grave.with_suffix(".new")
    new.unlink(missing_ok=True)
    merged = MmapedDict(str(new))  # type: ignore[no-untyped-call]
    for metric in MultiProcessCollector.merge(map(str, files), accumulate=False):  # type: ignore[no-untyped-call]
        for sample in metric.samples:
            key = json.dumps([metric.name, sample.name, sample.labels, metric.documentation], sort_keys=True)
            merged.write_value(key, sample.value, 0.0)  # type: ignore[no-untyped-call]
    merged.close()  # type: ignore[no-untyped-call]
    new.replace(grave)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
