"""What a consumer that pulls shows to say which lease it means: opaque to it, and void once the lease is another's."""

import base64
import binascii
import struct
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

_FORM = struct.Struct(">16sQQ")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_EPOCHS = 1 << 63


@dataclass(frozen=True, slots=True)
class Receipt:
    """A lease: of which delivery, under which epoch, since when."""

    delivery_id: uuid.UUID
    epoch: int
    leased_at: datetime = field(compare=False)

    def __str__(self) -> str:
        microseconds = (self.leased_at - _EPOCH) // timedelta(microseconds=1)
        return base64.urlsafe_b64encode(_FORM.pack(self.delivery_id.bytes, self.epoch, microseconds)).decode()


def read_receipt(token: str) -> Receipt | None:
    """None for what is no token of ours."""
    try:
        delivery, epoch, microseconds = _FORM.unpack(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, struct.error):
        return None
    if epoch >= _EPOCHS or microseconds > _LATEST:
        return None
    return Receipt(uuid.UUID(bytes=delivery), epoch, _EPOCH + timedelta(microseconds=microseconds))
