"""One terminal for many programs: every line says whose it is, and every log stays bounded."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TextIO

COLOURS = (36, 32, 33, 35, 34, 96, 92, 93)
WIDTH = 11
LOG_LIMIT = 16_777_216
CHUNK = 65_536


class Console:
    """Where the supervisor and its programs speak to the operator."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.coloured = stream.isatty() and not os.environ.get("NO_COLOR")
        self.colours: dict[str, int] = {}

    def relay(self, name: str, line: str) -> None:
        self.say(f"{self._label(name)} | {line}")

    def report(self, verb: str, name: str, text: str = "") -> None:
        self.say(f"{verb:<6} {self._label(name)} {text}".rstrip())

    def say(self, text: str) -> None:
        try:
            print(text, file=self.stream, flush=True)
        except UnicodeError:
            print(text.encode("ascii", "backslashreplace").decode(), file=self.stream, flush=True)
        except OSError:
            # The terminal is gone. The logs have everything, and the services do not end for that.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def _label(self, name: str) -> str:
        if not self.coloured:
            return f"{name:<{WIDTH}}"
        colour = self.colours.setdefault(name, COLOURS[len(self.colours) % len(COLOURS)])
        return f"\x1b[{colour}m{name:<{WIDTH}}\x1b[0m"


class Log:
    """A file that a program appends to, read as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self.position = path.stat().st_size
        self.partial = b""

    def new_lines(self) -> list[str]:
        """What was written since the last time, without a line that is not finished."""
        with self.path.open("rb") as file:
            file.seek(self.position)
            chunk = file.read(CHUNK)
        self.position += len(chunk)
        if self.position > LOG_LIMIT and len(chunk) < CHUNK:
            self._rotate()
        *lines, self.partial = (self.partial + chunk).split(b"\n")
        if len(self.partial) > CHUNK:
            lines, self.partial = [*lines, self.partial], b""
        return [line.decode(errors="replace").rstrip("\r") for line in lines]

    def _rotate(self) -> None:
        # Its writer holds it open and appends: emptied, it goes on from the beginning.
        shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
        os.truncate(self.path, 0)
        self.position = 0

    def last_lines(self, count: int = 20) -> list[str]:
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - CHUNK))
            return file.read().decode(errors="replace").splitlines()[-count:]
