import secrets
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import transaction

from hook0.installation import Credentials, read_credentials, write_credentials
from subscriptions.configure import create_subscription
from subscriptions.models import Subscription
from tenants.credentials import create_application_secret, create_service_token, principal_with
from tenants.models import Application, EventType, Organization
from tenants.staff import make_groups

EVENT_TYPE = ("demo", "greeting", "sent")
ADMIN, ORGANIZATION, APPLICATION = "admin", "My organization", "My application"


class Command(BaseCommand):
    help = "Give a new installation its first organization, application, credentials and administrator."

    def handle(self, **_: Any) -> None:
        """Everything is made once: what `credentials.json` names and the database has is kept."""
        credentials = read_credentials(settings.HOME)
        with transaction.atomic():
            make_groups()
            application = self._application(credentials)
            credentials = replace(
                credentials,
                organization_id=str(application.organization_id),
                application_id=str(application.id),
                service_token=credentials.service_token
                if principal_with(credentials.service_token)
                else create_service_token(application.organization, name="First token")[1],
                application_secret=credentials.application_secret
                if principal_with(credentials.application_secret)
                else create_application_secret(application, name="Default")[1],
                admin_username=ADMIN,
                admin_password=self._admin_password(credentials),
            )
            if credentials.receiver_url:
                self._subscribe(application, f"{credentials.receiver_url}/greetings")
        path = write_credentials(settings.HOME, credentials)
        self.stdout.write(f"Credentials are in {path}")

    def _application(self, credentials: Credentials) -> Application:
        if credentials.application_id:
            known = Application.objects.select_related("organization").filter(id=UUID(credentials.application_id))
            if found := known.first():
                return found
        organization, _ = Organization.objects.get_or_create(name=ORGANIZATION)
        application, _ = Application.objects.get_or_create(organization=organization, name=APPLICATION, deleted_at=None)
        return application

    def _admin_password(self, credentials: Credentials) -> str:
        users = get_user_model().objects
        if users.filter(username=ADMIN).exists():
            if not credentials.admin_password:
                self.stderr.write(
                    f"There is an administrator already, whose password is not known here: "
                    f"`manage.py changepassword {ADMIN}` sets a new one."
                )
            return credentials.admin_password
        password = secrets.token_urlsafe(12)
        users.create_superuser(ADMIN, password=password)
        return password

    def _subscribe(self, application: Application, url: str) -> None:
        """Greetings go to the receiver that `up` starts beside us, wherever it listens this time."""
        service, resource_type, verb = EVENT_TYPE
        EventType.objects.get_or_create(
            application=application, service=service, resource_type=resource_type, verb=verb
        )
        ours = Subscription.objects.filter(application=application, description="Greetings to the receiver")
        if not ours.update(url=url):
            create_subscription(
                application=application,
                description="Greetings to the receiver",
                event_types=[".".join(EVENT_TYPE)],
                labels={"demo": "yes"},
                url=url,
                fifo_mode=True,
            )
