"""Whose address a request has."""

import ipaddress

import pytest
from django.test import RequestFactory

from tenants.addresses import client_address

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("connected", "told", "address"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("fd00::1", "2001:DB8::1", "2001:db8::1"),
        ("fe80::1%eth0", "", "fe80::1"),
        ("", "198.51.100.7", None),
        ("unix:", "", None),
    ],
)
def test_only_proxies_that_are_trusted_are_believed(settings, connected, told, address):
    settings.TRUSTED_PROXIES = PROXIES
    request = RequestFactory().get("/", headers={"X-Forwarded-For": told} if told else {}, REMOTE_ADDR=connected)
    assert client_address(request) == address


def test_without_trusted_proxies_nobody_is_believed(settings):
    settings.TRUSTED_PROXIES = []
    request = RequestFactory().get("/", headers={"X-Forwarded-For": "198.51.100.7"}, REMOTE_ADDR="10.0.0.1")
    assert client_address(request) == "10.0.0.1"
