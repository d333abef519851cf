"""Tokens of leases: there and back, and what is none."""

import base64
import uuid
from datetime import UTC, datetime

import pytest

from delivery.receipts import Receipt, read_receipt

RECEIPT = Receipt(uuid.uuid4(), 2**53 - 1, datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))


def test_a_token_names_its_lease():
    found = read_receipt(str(RECEIPT))
    assert found == RECEIPT
    assert found.leased_at == RECEIPT.leased_at


@pytest.mark.parametrize(
    "token",
    ["", "x", "é" * 44, str(RECEIPT)[:-4], str(RECEIPT) + "AAAA", str(RECEIPT.delivery_id)]
    + [
        base64.urlsafe_b64encode(bytes(16) + tail).decode() for tail in (b"\xff" * 8 + bytes(8), bytes(8) + b"\xff" * 8)
    ],
)
def test_what_is_no_token_is_not_read(token):
    assert read_receipt(token) is None
