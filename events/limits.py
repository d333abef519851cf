"""What an event may be: one definition for the API, and for the bulk loads that are tested to agree with it."""

PAYLOAD_CHARACTERS = 699_050  # 512 KiB in base64
EVENT_TYPE_CHARACTERS = 200
CONTENT_TYPE_CHARACTERS = 100
METADATA_ENTRIES = 50
LABEL_ENTRIES = 10
KEY_OR_VALUE_BYTES = 50
ORDERING_KEY_CHARACTERS = 200
PRIORITIES = (0, 200)
BACKOFF_ENTRIES = 100
BACKOFF_MS = 7 * 24 * 3_600_000
DELAY_MS = 30 * 24 * 3_600_000

BATCH_EVENTS = 1_000
BATCH_BYTES = 10 * 1024 * 1024

TEXT = "text/plain"
JSON = "application/json"
BASE64 = "application/octet-stream+base64"
CONTENT_TYPES = (TEXT, JSON, BASE64)
