"""What a user of the published `hook0-client` writes; run by a Python that has it, and not our package of that name.

hook0_client.py send API_URL APPLICATION_ID TOKEN PAYLOAD    sends an event, prints its id
hook0_client.py verify SECRET < webhook.json                 checks {"headers": {...}, "body": "..."}
hook0_client.py decode < answers.json                        reads {"Event": [...], ...} as the models of these names
"""

import json
import sys

from hook0.generated import models

from hook0 import Event, Hook0Client, Hook0ClientError, verify_webhook_signature


def send(api_url: str, application_id: str, token: str, payload: str) -> None:
    client = Hook0Client(api_url, application_id, token)
    client.upsert_event_types(["demo.greeting.sent"])
    event = Event(
        event_type="demo.greeting.sent",
        payload=payload,
        payload_content_type="application/json",
        labels={"demo": "flow"},
    )
    sys.stdout.write(str(client.send_event(event)))


def verify(secret: str) -> None:
    webhook = json.load(sys.stdin)
    headers = webhook["headers"]
    try:
        verify_webhook_signature(headers["x-hook0-signature"], webhook["body"].encode(), headers, secret, 300)
    except Hook0ClientError as refused:
        sys.exit(f"refused: {refused}")
    sys.stdout.write("genuine")


def decode() -> None:
    for name, documents in json.load(sys.stdin).items():
        for document in documents:
            sys.stdout.write(f"{getattr(models, name).from_json(document)!r}\n")


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*sys.argv[2:])
    elif sys.argv[1] == "decode":
        decode()
    else:
        verify(*sys.argv[2:])
