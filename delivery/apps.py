from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from delivery.audit import record  # noqa: PLC0415 - apps are not loaded before
        from tenants import audit  # noqa: PLC0415

        audit.on_done.append(record)
