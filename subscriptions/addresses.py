"""Addresses that webhooks must not reach: whoever may name a target could else knock on our own doors."""

import ipaddress
import socket
from collections.abc import Iterable
from contextlib import suppress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_FORBIDDEN: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/8", "64:ff9b::/32", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
        "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_forbidden(text: str, allowed: Iterable[Network] = ()) -> bool:
    """Whether a webhook must not be sent to this address; `allowed` networks are an operator's exceptions."""
    address = _meant(ipaddress.ip_address(text.partition("%")[0]))
    if any(address.version == network.version and address in network for network in allowed):
        return False
    return any(address.version == network.version and address in network for network in _FORBIDDEN)


def literal_address(host: str) -> str | None:
    """The address that a URL's host is, in any spelling that clients take (`127.1`, `0x7f000001`); None for a name."""
    with suppress(ValueError):
        return str(ipaddress.ip_address(host.partition("%")[0]))
    with suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return None


def _meant(address: Address) -> Address:
    """The IPv4 address inside a mapped or NAT64 one: that is where the packets go."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
