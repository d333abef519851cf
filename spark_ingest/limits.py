"""What an event may be. The API has the same limits in a package that a cluster does not have; a test compares them."""

PAYLOAD_CHARACTERS = 699_050
EVENT_TYPE_CHARACTERS = 200
CONTENT_TYPE_CHARACTERS = 100
METADATA_ENTRIES = 50
LABEL_ENTRIES = 10
KEY_OR_VALUE_BYTES = 50
ORDERING_KEY_CHARACTERS = 200
BACKOFF_ENTRIES = 100
BACKOFF_MS = 7 * 24 * 3_600_000
DELAY_MS = 30 * 24 * 3_600_000

KEYS_IF_UNDELIVERED = 10
KEY_PARTS = 10
KEY_CHARACTERS = 100

TEXT = "text/plain"
JSON = "application/json"
BASE64 = "application/octet-stream+base64"
CONTENT_TYPES = (TEXT, JSON, BASE64)
