from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "monitoring"

    def ready(self) -> None:
        from delivery import hooks  # noqa: PLC0415 - apps are not loaded before
        from monitoring.counters import count_recorded  # noqa: PLC0415

        hooks.on_recorded.append(count_recorded)
