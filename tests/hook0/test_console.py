import io
import os
from pathlib import Path

import pytest

from hook0 import console
from hook0.console import Console, Log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_every_line_says_whose_it_is() -> None:
    stream = io.StringIO()
    Console(stream).relay("api", "listening")
    assert stream.getvalue() == "api         | listening\n"


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    speaker = Console(stream)
    for name in ("api", "beat", "api"):
        speaker.relay(name, "")
    first, second, third = stream.getvalue().splitlines()
    assert first == third == "\x1b[36mapi        \x1b[0m | "
    assert second.startswith("\x1b[32m")


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Console(stream).relay("api", "listening")
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_that_is_gone_stops_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        speaker = Console(stream)
        speaker.say("nobody reads this")
        speaker.say("nor this")


def test_a_character_that_the_terminal_lacks_is_spelled_out() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(stream).say("naïve")
    stream.seek(0)
    assert stream.read() == "na\\xefve\n"


def test_a_log_tells_what_is_new_in_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "api.log"
    path.write_text("from an earlier run\n")
    log = Log(path)
    assert log.new_lines() == []
    with path.open("ab", buffering=0) as writer:
        writer.write(b"one\r\ntwo\nthr")
        assert log.new_lines() == ["one", "two"]
        writer.write(b"ee\n\xff\n")
        assert log.new_lines() == ["three", "\N{REPLACEMENT CHARACTER}"]
    assert log.last_lines(2) == ["three", "\N{REPLACEMENT CHARACTER}"]


def test_a_log_stays_bounded_while_its_writer_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LOG_LIMIT", 100)
    path = tmp_path / "api.log"
    log = Log(path)
    seen = []
    with path.open("ab", buffering=0) as writer:
        for number in range(50):
            writer.write(f"line {number}\n".encode())
            seen += log.new_lines()
    assert seen == [f"line {number}" for number in range(50)]
    assert path.stat().st_size <= 110
    assert (tmp_path / "api.log.1").stat().st_size <= 110
