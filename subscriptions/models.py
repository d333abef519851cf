import uuid
from datetime import UTC, datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.ids import new_id
from tenants.models import Application, Organization

PUBLIC_POOL = 0


class Worker(models.Model):
    """Pumps under one name: where subscriptions, or a whole organization, are served apart from the others."""

    name = models.CharField(max_length=50, unique=True)
    is_public = models.BooleanField(
        default=False,
        help_text="On: everybody may ask for it, and it serves all who ask for no worker, too. "
        "Off: it serves what is assigned to it, and nothing else.",
    )
    organizations = models.ManyToManyField(Organization, through="OrganizationWorker", related_name="workers")

    class Meta:
        db_table = "worker"

    def __str__(self) -> str:
        return self.name


class OrganizationWorker(models.Model):
    """An organization may use this worker."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="worker_links")
    worker = models.ForeignKey(Worker, models.CASCADE, related_name="organization_links")
    is_default = models.BooleanField(
        default=False, help_text="It serves the organization's subscriptions that name no worker of their own."
    )

    class Meta:
        db_table = "organization_worker"
        constraints = [
            models.UniqueConstraint(fields=["organization", "worker"], name="worker_once_per_organization"),
            models.UniqueConstraint(
                fields=["organization"], name="one_default_worker_per_organization", condition=Q(is_default=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.organization} may use {self.worker}"


class WorkerPool(models.Model):
    """Workers that serve the same subscriptions. Never changed; what waits names its pool, and claims go by that."""

    workers = ArrayField(models.IntegerField(), unique=True, help_text="Their ids, ascending.")

    class Meta:
        db_table = "worker_pool"

    def __str__(self) -> str:
        return str(self.pk)


class Subscription(models.Model):
    """Which events of an application somebody wants, where they go, and under which terms."""

    class Method(models.TextChoices):
        GET = "GET"
        PATCH = "PATCH"
        POST = "POST"
        PUT = "PUT"
        DELETE = "DELETE"
        OPTIONS = "OPTIONS"
        HEAD = "HEAD"

    class OnExhausted(models.TextChoices):
        ADVANCE = "advance", "Advance: the event goes to the dead letters and the next one is sent"
        BLOCK = "block", "Block: the lane stops until somebody retries or skips"

    class TargetType(models.TextChoices):
        HTTP = "http", "HTTP: webhooks are sent to its URL"
        PULL = "pull", "Pull: consumers fetch its deliveries"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="subscriptions", db_index=False)
    description = models.CharField(max_length=100, blank=True, default="")
    is_enabled = models.BooleanField(default=True, help_text="Off: no new deliveries; existing ones complete.")
    is_paused = models.BooleanField(
        default=False, help_text="On: nothing is sent and nothing is lost; it goes out in order when lifted."
    )
    event_types = ArrayField(
        models.CharField(max_length=200),
        help_text="Names like <code>billing.invoice.paid</code>, or <code>billing.*</code> for all that start so.",
    )
    labels = models.JSONField(help_text="Labels an event must carry, all of them, to be sent here. It may carry more.")
    metadata = models.JSONField(default=dict, blank=True)
    secret = models.UUIDField(default=uuid.uuid4, editable=False, help_text="Signs the webhooks.")
    previous_secret = models.UUIDField(null=True, editable=False, help_text="Signs along for a while.")
    previous_secret_until = models.DateTimeField(null=True, editable=False)

    target_type = models.CharField(
        max_length=4, choices=TargetType, default=TargetType.HTTP, db_default=TargetType.HTTP
    )
    method = models.CharField(max_length=7, choices=Method, default=Method.POST)
    url = models.URLField("URL", max_length=1000, blank=True, default="")
    headers = models.JSONField(default=dict, blank=True, help_text="Sent with every webhook.")
    lease_seconds = models.PositiveIntegerField(
        default=30,
        db_default=30,
        help_text="How long a consumer that pulls may take for a delivery before others get it.",
    )

    fifo_mode = models.BooleanField(
        "FIFO",
        default=False,
        help_text="Strict order: the next webhook is sent only after the current one succeeded or was given up. "
        "One request at a time, so slower; a failing endpoint holds back what comes behind.",
    )
    fifo_key = models.CharField(
        max_length=56,
        null=True,
        blank=True,
        help_text="What splits the order into independent lanes: <code>event_type</code>, "
        "<code>ordering_key</code> or <code>label:&lt;name&gt;</code>. Empty: one lane for everything.",
    )
    fifo_on_exhausted = models.CharField(
        max_length=7,
        choices=OnExhausted,
        default=OnExhausted.ADVANCE,
        help_text="When all retries have failed.",
    )
    retry_policy = models.JSONField(null=True, blank=True, help_text="Empty: the default policy.")
    timeout_ms = models.PositiveIntegerField("time-out (ms)", default=15_000)
    max_in_flight = models.PositiveIntegerField(default=32, help_text="Requests at a time; one per lane in FIFO.")
    rate_limit = models.JSONField(
        null=True,
        blank=True,
        help_text='<code>{"requests": 10, "per_seconds": 1}</code>: so many at most, over any such while.',
    )
    disable_after_hours = models.PositiveIntegerField(
        null=True, blank=True, help_text="Disable when every request has failed for so long. Empty: never."
    )
    disabled_reason = models.CharField(max_length=200, blank=True, default="", editable=False)
    is_end_announced = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="That hook0 has disabled it."
    )
    dedicated_workers = models.ManyToManyField(Worker, db_table="subscription_worker", blank=True, related_name="+")

    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        db_table = "subscription"
        indexes = [
            # fan_out.sql: what an application's event may match
            models.Index(
                fields=["application"],
                name="subscription_wants",
                condition=Q(is_enabled=True, deleted_at=None),
            ),
            # the list of the API and the admin, oldest first
            models.Index(fields=["application", "created_at", "id"], name="subscription_by_age"),
            # events.announcements
            models.Index(
                fields=["updated_at"],
                name="subscription_end_unannounced",
                condition=Q(is_enabled=False, is_end_announced=False) & ~Q(disabled_reason=""),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(fifo_key=None) | Q(fifo_key__regex="^(event_type|ordering_key|label:.{1,50})$"),
                name="fifo_key_is_known",
            ),
            models.CheckConstraint(
                condition=Q(fifo_on_exhausted__in=["advance", "block"]), name="fifo_on_exhausted_is_known"
            ),
            models.CheckConstraint(
                condition=Q(timeout_ms__gte=1_000, timeout_ms__lte=60_000), name="timeout_within_bounds"
            ),
            models.CheckConstraint(
                condition=Q(max_in_flight__gte=1, max_in_flight__lte=1_000),
                name="max_in_flight_within_bounds",
            ),
            models.CheckConstraint(
                condition=(Q(target_type="http") & ~Q(url="")) | Q(target_type="pull", url=""),
                name="target_has_a_url_unless_it_pulls",
            ),
            models.CheckConstraint(
                condition=Q(lease_seconds__gte=1, lease_seconds__lte=43_200), name="lease_within_bounds"
            ),
        ]

    @property
    def pulls(self) -> bool:
        return self.target_type == self.TargetType.PULL

    @property
    def live_previous_secret(self) -> uuid.UUID | None:
        """The one that signs along, for as long as it does."""
        until = self.previous_secret_until
        return self.previous_secret if until and until > datetime.now(UTC) else None

    def __str__(self) -> str:
        return self.description or self.url or f"consumers that pull ({self.id})"


class SubscriptionState(models.Model):
    """What the queue knows of a subscription. One row per subscription, made with it.

    Publishers lock it as they make deliveries, so a change of the mode waits for them. Without order,
    it says whether something is due: the claim reads its index instead of the backlog, so a
    subscription with a million waiting is in nobody's way.
    """

    subscription = models.OneToOneField(Subscription, models.CASCADE, primary_key=True, related_name="state")
    fifo_mode = models.BooleanField(help_text="The mode in which deliveries are made; changed under a lock.")
    pool = models.IntegerField(db_default=PUBLIC_POOL, help_text="Who serves it: a WorkerPool, or 0 for everybody.")
    ready_at = models.DateTimeField(null=True, help_text="When to look at it next; empty: nothing is due.")
    in_flight = models.IntegerField(db_default=0, help_text="Requests under way, where there is no order.")
    failures = models.IntegerField(db_default=0, help_text="Outages in a row: no answer, 5xx or 429.")
    failing_since = models.DateTimeField(null=True)
    allowance = models.SmallIntegerField(null=True, help_text="Fewer requests at a time than configured: a probe.")
    trips = models.SmallIntegerField(db_default=0, help_text="How often in a row the circuit has opened.")
    circuit_until = models.DateTimeField(null=True, help_text="Nothing is sent before; then a probe is.")
    probe_until = models.DateTimeField(null=True, help_text="A probe is under way.")
    next_token_at = models.DateTimeField(null=True, help_text="When the rate limit is unspent again.")
    trouble_announced_at = models.DateTimeField(null=True, help_text="That it fails, and not yet that it recovered.")

    class Meta:
        db_table = "subscription_state"
        indexes = [
            # pick_subscriptions.sql: index order is claim order
            models.Index(
                fields=["pool", "ready_at", "subscription"],
                name="subscription_ready",
                condition=Q(ready_at__isnull=False),
            ),
            # events.announcements
            models.Index(
                fields=["trouble_announced_at"],
                name="subscription_in_trouble",
                condition=Q(trouble_announced_at__isnull=False),
            ),
            # a snapshot of the metrics: the circuits that are not closed
            models.Index(fields=["circuit_until"], name="subscription_tripped", condition=Q(allowance__isnull=False)),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(in_flight__gte=0), name="in_flight_is_not_negative"),
            models.CheckConstraint(
                condition=Q(fifo_mode=False) | Q(ready_at__isnull=True, in_flight=0),
                name="order_is_kept_by_lanes_alone",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subscription_id}: {self.in_flight} in flight"
