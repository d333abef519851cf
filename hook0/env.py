"""Readers of the environment: each variable is read once, checked, and documented where it is read.

A reader refuses nonsense with an error that says what to set; an unset variable takes its default,
and one without a default is required. `VARIABLES` is what was read: the settings page in the
reference, and a test that compares the two, are made from it.
"""

import ipaddress
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
T = TypeVar("T")

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


@dataclass(frozen=True)
class Variable:
    """One environment variable, as the reference documents it."""

    name: str
    default: str | None
    description: str
    group: str
    sensitive: bool = False


VARIABLES: dict[str, Variable] = {}


def read(
    name: str,
    default: str | None,
    description: str,
    *,
    group: str,
    parse: Callable[[str], T],
    sensitive: bool = False,
) -> T:
    """Read one variable; `default` is written as an operator would write it, None makes it required."""
    VARIABLES[name] = Variable(name, default, description, group, sensitive)
    raw = os.environ.get(name, "").strip() or default
    if raw is None:
        raise ImproperlyConfigured(f"{name} is not set. {description}")
    try:
        return parse(raw)
    except ValueError as problem:
        shown = "its value" if sensitive else repr(raw)
        raise ImproperlyConfigured(f"{name}: {shown} will not do: {problem}. {description}") from None


def require(*names: str) -> None:
    """Name all that is missing at once, before the readers would name one after the other."""
    if missing := [name for name in names if not os.environ.get(name, "").strip()]:
        raise ImproperlyConfigured(f"Not set: {', '.join(missing)}. docs/reference/settings.md says what each is.")


def text(raw: str) -> str:
    return raw


def boolean(raw: str) -> bool:
    if raw.lower() in TRUE:
        return True
    if raw.lower() in FALSE or not raw:
        return False
    raise ValueError("write true or false")


def integer(low: int, high: int) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError(f"write a whole number from {low} to {high}") from None
        if not low <= value <= high:
            raise ValueError(f"it must be from {low} to {high}")
        return value

    return parse


def seconds(low: float, high: float) -> Callable[[str], float]:
    def parse(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise ValueError(f"write a number of seconds from {low:g} to {high:g}") from None
        if not low <= value <= high:
            raise ValueError(f"it must be from {low:g} to {high:g} seconds")
        return value

    return parse


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    allowed = list(choices)

    def parse(raw: str) -> str:
        if raw not in allowed:
            raise ValueError(f"write one of {', '.join(allowed)}")
        return raw

    return parse


def words(raw: str) -> list[str]:
    return [word for word in (part.strip() for part in raw.split(",")) if word]


def origins(raw: str) -> list[str]:
    """What a browser calls an origin: a scheme and a host, and a port where it is not the usual one."""
    parse = url("http", "https")
    for word in words(raw):
        parts = urlsplit(parse(word))
        if parts.geturl() != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
            raise ValueError(f"{word} is no origin; write https://app.example.com, without a path")
    return words(raw)


def networks(raw: str) -> list[Network]:
    try:
        return [ipaddress.ip_network(word, strict=False) for word in words(raw)]
    except ValueError as problem:
        raise ValueError(f"{problem}; write networks like 10.0.0.0/8, separated by commas") from None


def folder(raw: str) -> Path:
    return Path(raw).expanduser().resolve()


def url(*schemes: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if not raw:
            return raw
        parts = urlsplit(raw)
        _ = parts.port  # raises where it is no number
        if parts.scheme not in schemes:
            raise ValueError(f"it must start with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        if not parts.hostname and not parts.query:
            raise ValueError("it names no host")
        return raw

    return parse


def secret(least: int) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if len(raw) < least:
            raise ValueError(f"it must be at least {least} characters; `openssl rand -hex 32` makes one")
        return raw

    return parse
