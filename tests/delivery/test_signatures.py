import base64
import hashlib
import hmac

from delivery.signatures import hook0_signature, standard_secret, standard_signature


def test_hook0s_signature_agrees_with_its_published_vector():
    assert (
        hook0_signature(
            "secret",
            timestamp=1636936200,
            headers=[
                ("X-Event-Type", "service.resource.verb"),
                ("X-Event-Id", "1a01cb48-5142-4d9b-8f90-d20cca61f0ee"),
            ],
            body=b"hello !",
        )
        == "t=1636936200,h=x-event-id x-event-type,"
        "v1=bc521546ba5de381b12f135782d2008b028c3065c191760b12b76850a8fc8f51"
    )


def test_the_standard_signature_is_verified_with_the_secret_its_libraries_take():
    key = base64.b64decode(standard_secret("abc").removeprefix("whsec_"))
    signed = standard_signature("abc", message_id="msg_1", timestamp=7, body=b"{}")
    code = hmac.new(key, b"msg_1.7.{}", hashlib.sha256).digest()
    assert signed == "v1," + base64.b64encode(code).decode()
