"""Draw the dashboards of a real run into docs/images: `python -m tests.pictures [--minutes 5]`."""

import os
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")

import django

django.setup()

from monitoring.dashboards import DASHBOARDS  # noqa: E402
from tests.cluster import ROOT  # noqa: E402
from tests.flow.conftest import running_product  # noqa: E402
from tests.flow.trouble import product_in_trouble  # noqa: E402
from tests.pictures.drawing import Run, draw  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long the run is watched")
    seconds = parser.parse_args().minutes * 60
    with (
        tempfile.TemporaryDirectory() as folder,
        running_product() as product,
        product_in_trouble(product, Path(folder), at_once=False) as watched,
    ):
        time.sleep(seconds)
        run = Run(watched.prometheus, seconds, watched.slow)
        for dashboard in DASHBOARDS:
            draw(dashboard, run, IMAGES / f"{dashboard.uid}.png")


main()
