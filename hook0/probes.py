"""Questions to the network: does it answer, is this port free."""

import http.client
import socket
from urllib.parse import urlsplit

TIMEOUT = 1.0


def port_answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((reachable(host), port), TIMEOUT).close()
    except OSError:
        return False
    return True


def http_answers(host: str, port: int, path: str, public_url: str) -> bool:
    """Whether a GET answers 200 when it comes as if through the proxy in front."""
    public = urlsplit(public_url)
    connection = http.client.HTTPConnection(reachable(host), port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers={"Host": public.netloc, "X-Forwarded-Proto": public.scheme})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def reachable(host: str) -> str:
    """Where a server that listens on `host` is reached from its own machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def try_port(host: str, port: int) -> None:
    """Listen there for a moment; an OSError where that cannot be."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind((host, port))


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
    return port
