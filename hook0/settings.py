"""Django's settings. Every environment variable is read here, once; docs/reference/settings.md lists them."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static

from hook0 import env
from hook0.installation import read_credentials, read_secret_key
from hook0.rates import Rate

BASE_DIR = Path(__file__).resolve().parent.parent

# --- where we are -----------------------------------------------------------------------------------

ENVIRONMENT = env.read(
    "HOOK0_ENVIRONMENT",
    "development",
    "`production` refuses every default that is only safe on one's own machine; else `development`.",
    group="Installation",
    parse=env.one_of(["development", "production"]),
)
PRODUCTION = ENVIRONMENT == "production"
if PRODUCTION:
    env.require("HOOK0_SECRET_KEY", "HOOK0_ALLOWED_HOSTS", "DATABASE_URL", "CELERY_BROKER_URL")

HOME = env.read(
    "HOOK0_HOME",
    str(BASE_DIR / "var"),
    "The folder of the embedded services, their data and `credentials.json`. Default: `var` in the checkout.",
    group="Installation",
    parse=env.folder,
)
# On one's own machine the commands beside `make run` find the running services by themselves.
try:
    _RUNNING = read_credentials(HOME)
except ValueError as problem:
    raise ImproperlyConfigured(str(problem)) from None

PORT = env.read(
    "HOOK0_PORT",
    str(
        env.read(
            "PORT",
            "8000",
            "Hook0's name for `HOOK0_PORT`, which goes before it.",
            group="Installation",
            parse=env.integer(1, 65532),
        )
    ),
    "The port of the API and the admin. In `make run` the demo receiver, metrics and streams take the next three.",
    group="Installation",
    parse=env.integer(1, 65532),
)
BIND = env.read(
    "HOOK0_BIND",
    env.read(
        "IP", "127.0.0.1", "Hook0's name for `HOOK0_BIND`, which goes before it.", group="Installation", parse=env.text
    ),
    "The address the API and the metrics listen on; `0.0.0.0` in a container.",
    group="Installation",
    parse=env.text,
)
PUBLIC_URL = env.read(
    "HOOK0_PUBLIC_URL",
    f"http://127.0.0.1:{PORT}",
    "How clients and browsers reach this installation. Default: `http://127.0.0.1:$HOOK0_PORT`.",
    group="Installation",
    parse=env.url("http", "https"),
).rstrip("/")

STREAM_PORT = env.read(
    "HOOK0_STREAM_PORT",
    str(PORT + 3),
    "The port of the streams of consumers that pull. Default: `$HOOK0_PORT` + 3.",
    group="Installation",
    parse=env.integer(1, 65535),
)
STREAM_URL = env.read(
    "HOOK0_STREAM_URL",
    PUBLIC_URL if PRODUCTION else f"http://127.0.0.1:{STREAM_PORT}",
    "How consumers reach the streams. Default: `http://127.0.0.1:$HOOK0_STREAM_PORT`; in production "
    "`$HOOK0_PUBLIC_URL`, where the proxy in front tells them apart by their paths.",
    group="Installation",
    parse=env.url("http", "https"),
).rstrip("/")
SECRET_KEY = env.read(
    "HOOK0_SECRET_KEY",
    None if PRODUCTION else read_secret_key(HOME) or "only-for-commands-that-run-before-the-first-start",
    "Signs sessions. At least 32 random characters. `make run` makes one and keeps it.",
    group="Installation",
    parse=env.secret(32),
    sensitive=True,
)
DEBUG = env.read(
    "HOOK0_DEBUG",
    "false",
    "Show tracebacks in the browser. Refused in production.",
    group="Installation",
    parse=env.boolean,
)
if DEBUG and PRODUCTION:
    raise ImproperlyConfigured("HOOK0_DEBUG shows tracebacks to everybody: unset it in production.")
ALLOWED_HOSTS = env.read(
    "HOOK0_ALLOWED_HOSTS",
    None if PRODUCTION else "*",
    "Host names that requests may name, separated by commas.",
    group="Installation",
    parse=env.words,
)
LOG_LEVEL = env.read(
    "HOOK0_LOG_LEVEL",
    "INFO",
    "DEBUG, INFO, WARNING or ERROR.",
    group="Installation",
    parse=env.one_of(["DEBUG", "INFO", "WARNING", "ERROR"]),
)
LOG_FORMAT = env.read(
    "HOOK0_LOG_FORMAT",
    "json" if PRODUCTION else "line",
    "`line` is for people, `json` for machines: an object on each line.",
    group="Installation",
    parse=env.one_of(["line", "json"]),
)
ACCESS_LOG = env.read(
    "HOOK0_ACCESS_LOG",
    "false",
    "A log line for each request to the API and the admin, without its query string.",
    group="Installation",
    parse=env.boolean,
)
HTTPS = env.read(
    "HOOK0_HTTPS",
    "true" if PRODUCTION else "false",
    "Clients come over HTTPS, ended by a proxy that sets X-Forwarded-Proto: cookies are then for HTTPS "
    "alone and plain requests are redirected. Default: true in production.",
    group="Installation",
    parse=env.boolean,
)

CORS_ALLOWED_ORIGINS = env.read(
    "CORS_ALLOWED_ORIGINS",
    "",
    "Origins of web pages that may call the API from a browser, like `https://app.example.com`, separated by commas.",
    group="Installation",
    parse=env.origins,
)
HEALTH_CHECK_KEY = env.read(
    "HEALTH_CHECK_KEY",
    "",
    "What `GET /health/?key=` asks for. Unset: there is no such address.",
    group="Installation",
    parse=env.text,
    sensitive=True,
)
SUPPORT_EMAIL_ADDRESS = env.read(
    "SUPPORT_EMAIL_ADDRESS",
    "",
    "Where users find help; `GET /instance/` says it.",
    group="Installation",
    parse=env.text,
)

TRUSTED_PROXIES = env.read(
    "HOOK0_TRUSTED_PROXIES",
    "",
    "Networks of the proxies in front, separated by commas: who comes through them is known by `X-Forwarded-For`. "
    "Everybody else's header counts for nothing.",
    group="Installation",
    parse=env.networks,
)

# --- services ---------------------------------------------------------------------------------------

DATABASE_URL = env.read(
    "DATABASE_URL",
    None if PRODUCTION else _RUNNING.database_url,
    "PostgreSQL 15 or later, as `postgresql://user:password@host:5432/name`. "
    "Unset in development: `make run` starts its own.",
    group="Services",
    parse=env.url("postgresql", "postgres"),
    sensitive=True,
)
CELERY_BROKER_URL = env.read(
    "CELERY_BROKER_URL",
    None if PRODUCTION else _RUNNING.broker_url,
    "RabbitMQ (`amqp://...`) or Redis/Valkey (`redis://...`). Unset in development: `make run` starts its own.",
    group="Services",
    parse=env.url("amqp", "amqps", "redis", "rediss"),
    sensitive=True,
)
POSTGRES_BIN = env.read(
    "HOOK0_POSTGRES_BIN",
    "",
    "A folder with `initdb` and `postgres` for the embedded database, instead of the ones it would find.",
    group="Services",
    parse=env.text,
)


def _database(url: str) -> dict[str, Any]:
    """Django's wording of a PostgreSQL URL."""
    if not url:
        return {"ENGINE": "django.db.backends.dummy"}
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    # Django's own cursors never prepare. What delivery.statements does prepare is planned once, and never compiled:
    # either takes longer than the work.
    options["prepare_threshold"] = 0
    options["options"] = f"-c plan_cache_mode=force_generic_plan -c jit=off {options.get('options', '')}".rstrip()
    return {
        "ENGINE": "hook0.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": _database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- delivery ---------------------------------------------------------------------------------------

DELIVERY_PROCESSES = env.read(
    "HOOK0_DELIVERY_PROCESSES",
    "2",
    "How many pumps a delivery worker runs, each in a process of its own.",
    group="Delivery",
    parse=env.integer(1, 256),
)
DELIVERY_WINDOW = env.read(
    "HOOK0_DELIVERY_WINDOW",
    "256",
    "How many requests one pump keeps in flight. The window, not the processor, decides the rate of slow endpoints.",
    group="Delivery",
    parse=env.integer(1, 500),
)
DELIVERY_TIMEOUT = env.read(
    "HOOK0_DELIVERY_TIMEOUT",
    "15",
    "Seconds one request may take from connecting to the end of the answer, where a subscription says nothing.",
    group="Delivery",
    parse=env.seconds(1, 60),
)
CONNECT_TIMEOUT = env.read(
    "HOOK0_CONNECT_TIMEOUT",
    "5",
    "Seconds of that which finding and connecting to the target may take.",
    group="Delivery",
    parse=env.seconds(0.1, 60),
)
LEASE_MARGIN = env.read(
    "HOOK0_LEASE_MARGIN",
    "15",
    "Seconds a lease outlives the time-out of its request. Work of a worker that died resumes after both.",
    group="Delivery",
    parse=env.seconds(1, 300),
)
RESPONSE_BODY_LIMIT = env.read(
    "HOOK0_RESPONSE_BODY_LIMIT",
    "65536",
    "Bytes of a target's answer that are read and kept.",
    group="Delivery",
    parse=env.integer(0, 8_388_608),
)
ALLOWED_TARGETS = env.read(
    "HOOK0_ALLOWED_TARGETS",
    "" if PRODUCTION else "127.0.0.0/8,::1/128",
    "Networks that webhooks may reach although they are private, separated by commas. "
    "Default: none in production, loopback in development.",
    group="Delivery",
    parse=env.networks,
)
ATTEMPT_RETENTION_DAYS = env.read(
    "HOOK0_ATTEMPT_RETENTION_DAYS",
    "30",
    "Days that the log of ended request attempts is kept; whole days are dropped at once.",
    group="Delivery",
    parse=env.integer(1, 3650),
)
EVENT_RETENTION_DAYS = env.read(
    "HOOK0_EVENT_RETENTION_DAYS",
    str(ATTEMPT_RETENTION_DAYS),
    "Days that events are kept, at least as long as their attempts; longer where a delivery is pending "
    "or a dead letter. Default: `$HOOK0_ATTEMPT_RETENTION_DAYS`.",
    group="Delivery",
    parse=env.integer(1, 3650),
)
if EVENT_RETENTION_DAYS < ATTEMPT_RETENTION_DAYS:
    raise ImproperlyConfigured(
        f"HOOK0_EVENT_RETENTION_DAYS: {EVENT_RETENTION_DAYS} is less than the {ATTEMPT_RETENTION_DAYS} of "
        "HOOK0_ATTEMPT_RETENTION_DAYS, and an attempt cannot be shown without its event. Lower both, or neither."
    )

# --- quotas -----------------------------------------------------------------------------------------

QUOTAS_ENFORCED = env.read(
    "ENABLE_QUOTA_ENFORCEMENT",
    "false",
    "Enforce the limits below. Otherwise there are none.",
    group="Quotas",
    parse=env.boolean,
)
APPLICATIONS_PER_ORGANIZATION = env.read(
    "QUOTA_GLOBAL_APPLICATIONS_PER_ORGANIZATION_LIMIT",
    "1",
    "Applications of an organization.",
    group="Quotas",
    parse=env.integer(0, 2_147_483_647),
)
EVENTS_PER_DAY = env.read(
    "QUOTA_GLOBAL_EVENTS_PER_DAY_LIMIT",
    "100",
    "Events that an application may send on one day, in UTC.",
    group="Quotas",
    parse=env.integer(0, 2_147_483_647),
)
SUBSCRIPTIONS_PER_APPLICATION = env.read(
    "QUOTA_GLOBAL_SUBSCRIPTIONS_PER_APPLICATION_LIMIT",
    "10",
    "Subscriptions of an application.",
    group="Quotas",
    parse=env.integer(0, 2_147_483_647),
)
EVENT_TYPES_PER_APPLICATION = env.read(
    "QUOTA_GLOBAL_EVENT_TYPES_PER_APPLICATION_LIMIT",
    "10",
    "Active event types of an application.",
    group="Quotas",
    parse=env.integer(0, 2_147_483_647),
)

# --- rates ------------------------------------------------------------------------------------------

TOKEN_RATE = Rate(
    per_second=env.read(
        "HOOK0_TOKEN_RATE",
        "1000",
        "Requests per second that one token may make; 0: without limit. A batch is one request.",
        group="Rates",
        parse=env.integer(0, 1_000_000),
    ),
    burst=env.read(
        "HOOK0_TOKEN_BURST",
        "2000",
        "Requests that one token may make at once, after a pause.",
        group="Rates",
        parse=env.integer(1, 1_000_000),
    ),
)
ADDRESS_RATE = Rate(
    per_second=env.read(
        "HOOK0_ADDRESS_RATE",
        "2000",
        "Requests per second that may come from one address, whatever their tokens; 0: without limit. Behind a proxy "
        "it takes `HOOK0_TRUSTED_PROXIES` to tell addresses apart.",
        group="Rates",
        parse=env.integer(0, 1_000_000),
    ),
    burst=env.read(
        "HOOK0_ADDRESS_BURST",
        "4000",
        "Requests that may come from one address at once, after a pause.",
        group="Rates",
        parse=env.integer(1, 1_000_000),
    ),
)

# --- metrics ----------------------------------------------------------------------------------------

METRICS_PORT = env.read(
    "HOOK0_METRICS_PORT",
    str(PORT + 2),
    "The port of `/metrics`. Default: `$HOOK0_PORT` + 2.",
    group="Metrics",
    parse=env.integer(1, 65535),
)
for _name, _port, _others in (
    ("HOOK0_STREAM_PORT", STREAM_PORT, {PORT: "API", PORT + 1: "receiver"}),
    ("HOOK0_METRICS_PORT", METRICS_PORT, {PORT: "API", PORT + 1: "receiver", STREAM_PORT: "streams"}),
):
    if _port in _others:
        raise ImproperlyConfigured(f"{_name}: {_port} is the port of the {_others[_port]}. Choose another.")
METRICS_DIR = env.read(
    "PROMETHEUS_MULTIPROC_DIR",
    "",
    "A folder that all processes of this machine share for their counters. Unset: counters are not collected.",
    group="Metrics",
    parse=env.text,
)

METRICS_SUBSCRIPTIONS = env.read(
    "HOOK0_METRICS_SUBSCRIPTIONS",
    "100",
    "How many FIFO subscriptions have metrics of their own; the others are summed up as `other`.",
    group="Metrics",
    parse=env.integer(0, 10_000),
)

# --- Django -----------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "hook0.desk.app.Admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "tenants",
    "subscriptions",
    "delivery",
    "events",
    "monitoring",
    "hook0",
]
MIDDLEWARE = [
    "hook0.request_ids.identify",
    "monitoring.requests.count",
    "hook0.access_log.log_requests",
    "hook0.middleware.let_go",
    "hook0.middleware.say_length",
    "hook0.middleware.let_finish",
    "hook0.middleware.tolerate_slashes",
    "hook0.middleware.switch_off_xss_auditors",
    "hook0.middleware.keep_admin_to_itself",
    "corsheaders.middleware.CorsMiddleware",
    "hook0.throttle.throttle",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "hook0.middleware.Sessions",
    "django.middleware.csrf.CsrfViewMiddleware",
    "hook0.middleware.Authentication",
    "hook0.middleware.Messages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "hook0.urls"
WSGI_APPLICATION = "hook0.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
PASSWORD_MINIMUM_LENGTH = 12
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in {
        "UserAttributeSimilarityValidator": {},
        "MinimumLengthValidator": {"min_length": PASSWORD_MINIMUM_LENGTH},
        "CommonPasswordValidator": {},
    }.items()
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = False

UNFOLD = {
    "SITE_TITLE": "hook0",
    "SITE_HEADER": "hook0",
    "SITE_SUBHEADER": "Webhooks that keep their order",
    "SITE_SYMBOL": "webhook",
    "SITE_URL": "/admin/",
    "SHOW_VIEW_ON_SITE": False,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("hook0/icon.svg")}],
    "STYLES": [lambda _: static("hook0/operate.css")],
    "SCRIPTS": [lambda _: static("hook0/operate.js")],
    "SIDEBAR": {"show_search": True, "command_search": True, "navigation": "hook0.desk.navigation.sidebar"},
}

SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = ["^livez$", "^readyz$"]  # probes come from nearby, without a proxy
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CORS_URLS_REGEX = "^/api/"
CORS_ALLOW_METHODS = ["GET", "POST", "PUT", "DELETE"]
CORS_ALLOW_HEADERS = ["accept", "authorization", "content-type", "hook0-client-options", "traceparent", "tracestate"]
CORS_EXPOSE_HEADERS = ["Link", "Retry-After", "X-Request-Id", "x-ratelimit-after"]
CORS_PREFLIGHT_MAX_AGE = 3600
# Events are bounded by events/limits.py; a request body of the API by 2 MiB.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_097_152

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["hook0.parsers.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["hook0.renderers.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "hook0.parsers.JsonWhateverIsAccepted",
    "EXCEPTION_HANDLER": "hook0.problems.answer",
    "UNAUTHENTICATED_USER": None,
    "DATETIME_FORMAT": "iso-8601",
    "DEFAULT_SCHEMA_CLASS": "hook0.operations.Operation",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "hook0",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_PUBLIC": True,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "hook0.openapi_examples.add_examples",
        "hook0.operations.share_answers",
    ],
    "ENUM_NAME_OVERRIDES": {
        "OnboardingStep": ["ToDo", "Done"],
        "HttpTargetType": ["http"],
        "PullTargetType": ["pull"],
        "JobState": "delivery.jobs.states.State",
    },
}

# --- Celery: a message is a doorbell and carries no state -------------------------------------------

CELERY_TASK_DEFAULT_QUEUE = "maintenance"
CELERY_TASK_ROUTES = {"delivery.tasks.pump": {"queue": "delivery"}}
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # a pump needs no broker
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Who publishes tries a new connection once, at once: beat, whose own has gone, and whoever rings after an ingest, who
# must not wait for a broker that is away.
_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
CELERY_TASK_PUBLISH_RETRY = True
CELERY_TASK_PUBLISH_RETRY_POLICY = _ONCE
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_TRANSPORT_OPTIONS = _ONCE | (
    {"socket_timeout": 5, "socket_connect_timeout": 1, "retry_on_timeout": False}
    if CELERY_BROKER_URL.startswith("redis")
    else {}
)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "hook0.logs.Line"}, "json": {"()": "hook0.logs.Json"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Ours say for themselves what is said: Celery sets the level of the root as its own command line has it.
        **{app: {"level": LOG_LEVEL} for app in ("tenants", "subscriptions", "delivery", "events", "monitoring")},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
    },
}
