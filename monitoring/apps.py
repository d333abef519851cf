from pathlib import Path

from django.apps import AppConfig
from django.conf import settings


class MonitoringConfig(AppConfig):
    name = "monitoring"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if settings.METRICS_DIR:
            Path(settings.METRICS_DIR).mkdir(parents=True, exist_ok=True)  # counters open their files as they are made

        import monitoring.jobs  # noqa: F401, PLC0415 - it listens
        from delivery import hooks as delivery  # noqa: PLC0415 - apps are not loaded before
        from events import hooks as events  # noqa: PLC0415
        from monitoring import counters, fifo_log  # noqa: PLC0415

        delivery.on_claimed.append(counters.count_claimed)
        delivery.on_recorded += [counters.count_recorded, fifo_log.report_blocks]
        delivery.on_reaped.append(counters.count_reaped)
        events.on_ingested.append(counters.count_ingested)
