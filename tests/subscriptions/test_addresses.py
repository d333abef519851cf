import ipaddress

import pytest

from subscriptions.addresses import is_forbidden, literal_address

PUBLIC = ["1.1.1.1", "93.184.216.34", "100.128.0.1", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "64:ff9b::1.1.1.1"]
PRIVATE = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.8", "192.88.99.1",
    "192.168.1.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd12::1",
    "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_reached(address):
    assert not is_forbidden(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_and_special_addresses_may_not(address):
    assert is_forbidden(address)


@pytest.mark.parametrize(
    ("address", "forbidden"),
    [
        ("127.0.0.1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::127.0.0.1", False),
        ("10.0.0.1", True),
        ("::1", True),
    ],
)
def test_an_allowed_network_is_an_exception_for_itself_in_every_form(address, forbidden):
    assert is_forbidden(address, [ipaddress.ip_network("127.0.0.0/8")]) is forbidden


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("169.254.169.254", "169.254.169.254"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("example.com", None),
        ("127.0.0.1.example.com", None),
        ("localhost", None),
    ],
)
def test_an_address_is_recognised_however_it_is_spelled(host, address):
    assert literal_address(host) == address
