"""The sender against real sockets: what a hostile, broken or slow endpoint can do, and what it cannot."""

import socket
import socketserver
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from delivery.sender import HEADERS_LIMIT, Sender
from delivery.webhook import WebhookRequest
from hook0.receiver import Behaviour

LIMIT = 1000


@pytest.fixture
def send(settings):
    sender = Sender(allowed=settings.ALLOWED_TARGETS, body_limit=LIMIT)

    def send(url, *, method="POST", headers=(), body=b"{}", timeout_ms=5_000):
        sender.start(WebhookRequest(method, url, list(headers), body, timeout_ms), "tag")
        while sender.in_flight:
            for tag, outcome in sender.wait(1.0):
                assert tag == "tag"
                return outcome
        raise AssertionError("the sender lost a request")

    yield send
    sender.close()


@pytest.fixture
def url(receiver):
    return f"http://127.0.0.1:{receiver.port}/hook"


@pytest.fixture
def answering():
    """A server that writes what the test gives it, piece by piece, to whoever connects."""
    servers = []

    def start(*pieces, pause=0.0):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.recv(65536)
                for piece in pieces:
                    try:
                        self.request.sendall(piece)
                    except OSError:
                        return
                    time.sleep(pause)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("method", ["GET", "PATCH", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_every_method_is_sent_with_the_body_it_can_have(send, receiver, url, method):
    assert send(url, method=method, body=b"hello").succeeded
    (received,) = receiver.received
    assert (received.method, received.body) == (method, "" if method == "HEAD" else "hello")


def test_headers_arrive_as_they_were_given_and_nothing_else_of_note(send, receiver, url):
    send(url, headers=[("X-One", "1"), ("X-Empty", ""), ("User-Agent", "hook0/1"), ("X-Text", "é")])
    headers = dict(receiver.received[0].headers)
    assert headers.pop("host").startswith("127.0.0.1:")
    assert headers.pop("x-text").encode("latin-1").decode() == "é"
    assert headers == {
        "x-one": "1",
        "x-empty": "",
        "user-agent": "hook0/1",
        "accept": "*/*",
        "content-length": "2",
        "content-type": "application/x-www-form-urlencoded",
    }


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_a_success(send, receiver, url, status):
    receiver.behaviours["/hook"] = Behaviour(status=status)
    assert send(url).error_name is None


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 410, 429, 500, 503])
def test_everything_else_is_a_failure_and_redirects_are_not_followed(send, receiver, url, status):
    receiver.behaviours["/hook"] = Behaviour(status=status, headers={"location": "/elsewhere"}, body="why")
    outcome = send(url)
    assert (outcome.error_name, outcome.http_status, outcome.body) == ("E_HTTP", status, b"why")
    assert [each.path for each in receiver.received] == ["/hook"]


def test_the_answer_is_kept_with_its_headers_up_to_the_limit(send, receiver, url):
    receiver.behaviours["/hook"] = Behaviour(body="x" * (LIMIT + 1), headers={"x-a": "1"})
    outcome = send(url)
    assert outcome.succeeded
    assert outcome.body == b"x" * LIMIT
    assert outcome.headers["x-a"] == "1"


def test_an_endless_body_ends_at_the_limit(send, answering):
    outcome = send(answering(b"HTTP/1.1 500 No\r\n\r\n", *[b"x" * 300] * 1000, pause=0.001))
    assert (outcome.error_name, outcome.http_status, len(outcome.body)) == ("E_HTTP", 500, LIMIT)


def test_endless_headers_end_at_the_limit(send, answering):
    line = b"X-Filler: " + b"x" * 1000 + b"\r\n"
    outcome = send(answering(b"HTTP/1.1 500 No\r\n", *[line] * 1000))
    assert not outcome.succeeded
    assert sum(map(len, outcome.headers.values())) <= HEADERS_LIMIT


def test_a_slow_drip_cannot_stretch_the_deadline(send, answering):
    began = time.monotonic()
    outcome = send(answering(b"HTTP/1.1 500 No\r\n", *[b"x"] * 200, pause=0.05), timeout_ms=300)
    assert outcome.error_name == "E_TIMEOUT"
    assert time.monotonic() - began < 5  # the drip alone would take ten


def test_a_2xx_counts_even_if_its_body_never_comes(send, answering):
    url = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")
    assert send(url).succeeded


def test_silence_is_a_time_out(send, receiver, url):
    receiver.behaviours["/hook"] = Behaviour(delay_ms=3_000)
    assert send(url, timeout_ms=200).error_name == "E_TIMEOUT"


def test_a_connection_that_is_refused_or_dropped_is_E_CONNECTION(send, receiver, url, answering):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/"
    assert send(closed).error_name == "E_CONNECTION"
    receiver.behaviours["/hook"] = Behaviour(down=True)
    assert send(url).error_name == "E_CONNECTION"
    assert send(answering(b"")).error_name == "E_CONNECTION"


def test_a_name_that_does_not_resolve_is_E_DNS(send):
    assert send("http://nobody.invalid/").error_name == "E_DNS"


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://", "nonsense://x"]
)
def test_other_schemes_and_nonsense_are_E_INVALID_TARGET(send, target):
    assert send(target).error_name == "E_INVALID_TARGET"


@pytest.mark.parametrize("gibberish", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 50])
def test_an_endpoint_that_does_not_speak_http_is_tried_again(send, answering, gibberish):
    assert send(answering(gibberish)).error_name in {"E_UNKNOWN", "E_CONNECTION"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"])
def test_a_forbidden_address_is_refused_where_it_is_connected_to(receiver, host):
    sender = Sender()
    sender.start(WebhookRequest("POST", f"http://{host}:{receiver.port}/", [], b"", 5_000), "tag")
    ended = []
    while sender.in_flight:
        ended += sender.wait(1.0)
    sender.close()
    assert [outcome.error_name for _, outcome in ended] == ["E_INVALID_TARGET"]
    assert receiver.received == []


def test_a_proxy_of_the_environment_cannot_take_webhooks_around_the_check(send, receiver, url, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send(url).succeeded


def test_connections_are_kept_and_used_again(settings, receiver, url):
    opened = []
    sender = Sender(allowed=settings.ALLOWED_TARGETS)
    before = _connections_to(receiver.port)
    for _ in range(5):
        sender.start(WebhookRequest("POST", url, [], b"", 5_000), "tag")
        while sender.in_flight:
            sender.wait(1.0)
        opened.append(_connections_to(receiver.port) - before)
    sender.close()
    assert opened == [1] * 5


def test_many_requests_are_in_flight_at_a_time(settings, receiver, url):
    receiver.behaviours["/hook"] = Behaviour(delay_ms=300)
    sender = Sender(allowed=settings.ALLOWED_TARGETS)
    began = time.monotonic()
    for number in range(100):
        sender.start(WebhookRequest("POST", url, [], b"", 20_000), number)
    ended = []
    while sender.in_flight:
        ended += sender.wait(1.0)
    sender.close()
    assert sorted(tag for tag, _ in ended) == list(range(100))
    assert time.monotonic() - began < 15  # one after the other: thirty


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("120", 120, 120),
        (lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True), 50, 61),
        (lambda: format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True), 0, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(send, receiver, url, value, low, high):
    value = value if isinstance(value, str) else value()
    receiver.behaviours["/hook"] = Behaviour(status=503, headers={"retry-after": value})
    assert low <= send(url).retry_after <= high


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "-5",
        "1.5",
        "",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2029 00:00:00 +999999999999",
    ],
)
def test_an_unreadable_retry_after_is_none(send, receiver, url, value):
    receiver.behaviours["/hook"] = Behaviour(status=503, headers={"retry-after": value})
    assert send(url).retry_after is None


def test_nothing_of_one_tenants_request_goes_into_the_next(send, receiver, url):
    """Handles and connections are used again; credentials, methods and bodies are not."""
    secrets = [("Authorization", "Bearer secret"), ("Cookie", "a=b"), ("Content-Type", "text/secret")]
    send(url, method="PUT", headers=secrets, body=b"secret", timeout_ms=30_000)
    send(url, method="HEAD", headers=secrets)
    send(url.replace("http://", "http://user:password@"), headers=secrets)
    send(url, body=b"plain")
    last = receiver.received[-1]
    assert (last.method, last.body) == ("POST", "plain")
    assert "secret" not in str(last.headers)
    assert not {"authorization", "cookie"} & set(last.headers)


def _connections_to(port):
    remote = f"{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[2].endswith(":" + remote) and line.split()[3] == "01" for line in lines)
