"""Runs programs side by side: starts them, relays what they say, restarts what dies, stops all in order.

One thread and one loop. `tick` is the only place where time passes, so whatever waits calls it.
"""

import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from hook0.console import Console, Log
from hook0.programs import PATIENCE, Program, StartError, end, insist, kill_group, record, spawn

TICK = 0.1
DEATHS, WITHIN = 5, 60.0
INSIST = 5.0
SLOW_START = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Child:
    """A program as it runs: its process, its log, and how often it has died lately."""

    def __init__(self, program: Program, home: Path) -> None:
        self.program = program
        self.log = Log(home / "log" / f"{program.name}.log")
        self.ready_file = home / "run" / f"{program.name}.ready"
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = False
        self.told_slow = False
        self.started = 0.0
        self.due = 0.0
        self.deaths: deque[float] = deque(maxlen=DEATHS)

    def start(self) -> None:
        self.ready_file.unlink(missing_ok=True)
        self.ready, self.started = False, time.monotonic()
        self.process = spawn(self.program, self.log.path, self.ready_file)

    def has_become_ready(self) -> bool:
        if not self.ready:
            self.ready = self.program.is_ready() if self.program.is_ready else self.ready_file.exists()
            return self.ready
        return False


class Supervisor:
    """Keeps batches of programs running until it is told to stop."""

    def __init__(self, home: Path, console: Console, *, pause: float = 0.5, patience: float = PATIENCE) -> None:
        self.home, self.console, self.pause, self.patience = home, console, pause, patience
        self.batches: list[list[Child]] = []
        self.stops = 0

    def __enter__(self) -> Self:
        def note(_number: int, _frame: FrameType | None) -> None:
            self.stops += 1

        for number in SIGNALS:
            # nohup has its way: what was ignored when we came stays ignored.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, programs: Iterable[Program]) -> None:
        """Start a batch side by side; batches are stopped in reverse."""
        batch: list[Child] = []
        self.batches.append(batch)
        for program in programs:
            batch.append(Child(program, self.home))
            batch[-1].start()
            self._record()

    def wait_until_ready(self) -> None:
        while not all(child.ready for batch in self.batches for child in batch):
            self.tick()

    def watch(self) -> None:
        """Until a signal comes, or a program dies again and again."""
        while True:
            self.tick()

    def run(self, step: Program) -> None:
        """Run to its end what must succeed before the rest may start."""
        began, output = time.monotonic(), Log(self.home / "log" / f"{step.name}.log")
        process = spawn(step, output.path)
        try:
            while process.poll() is None:
                self.tick()
        finally:
            end(step, process, patience=5)
        if process.returncode:
            for line in output.new_lines():
                self.console.relay(step.name, line)
            raise StartError(f"{step.name} failed; its output is above and in {output.path}.")
        self.console.report("done", step.name, f"({time.monotonic() - began:.1f} s)")

    def tick(self) -> None:
        """Let a moment pass and look after everybody; KeyboardInterrupt when a signal has come."""
        time.sleep(TICK)
        if self.stops:
            raise KeyboardInterrupt
        for child in (child for batch in self.batches for child in batch):
            self._relay(child)
            now = time.monotonic()
            if child.process is None:
                if now >= child.due:
                    child.start()
                    self._record()
            elif child.process.poll() is not None:
                self._bury(child, child.process, now)
            elif child.has_become_ready():
                took = f"({now - child.started:.1f} s)"
                self.console.report("ready", child.program.name, f"{child.program.address}  {took}".lstrip())
            elif not child.ready and not child.told_slow and now - child.started > SLOW_START:
                child.told_slow = True
                self.console.report("slow", child.program.name, f"not ready yet; its log is {child.log.path}")

    def _relay(self, child: Child) -> None:
        for line in child.log.new_lines():
            if line and not child.program.quiet:
                self.console.relay(child.program.name, line)

    def _bury(self, child: Child, process: subprocess.Popen[bytes], now: float) -> None:
        """It has ended by itself: start it again after a pause, unless it does so again and again."""
        kill_group(process.pid)
        child.process = None
        child.deaths.append(now)
        recent = sum(now - death < WITHIN for death in child.deaths)
        name, ended = child.program.name, _ending(process.returncode)
        if recent == DEATHS:
            last = "\n".join(child.log.last_lines())
            raise StartError(
                f"{name} has ended {DEATHS} times within a minute, the last time {ended}. "
                f"The end of {child.log.path}:\n{last}"
            )
        delay = self.pause * 2 ** (recent - 1)
        child.due = now + delay
        self.console.report("died", name, f"{ended}; starting it again in {delay:g} s")

    def stop(self) -> None:
        """Stop batch after batch, in reverse; a second signal ends everything at once."""
        asked = max(self.stops, 1)
        if any(child.process for batch in self.batches for child in batch):
            self.console.say("\nStopping. A second Ctrl-C does not wait.")
        for batch in reversed(self.batches):
            left = [(child, child.process) for child in reversed(batch) if child.process]
            deadline = time.monotonic() + self.patience
            for child, process in left:
                process.send_signal(child.program.stop)
            while left := [entry for entry in left if not self._has_ended(*entry)]:
                time.sleep(TICK / 2)
                now = time.monotonic()
                if self.stops > asked:
                    deadline = min(deadline, now)
                if now >= deadline:
                    for child, process in left:
                        insist(child.program, process, harder=now > deadline + INSIST)
        self.batches.clear()
        self._record()

    def _has_ended(self, child: Child, process: subprocess.Popen[bytes]) -> bool:
        ended = process.poll() is not None
        self._relay(child)
        if ended:
            kill_group(process.pid)
            self.console.report("ended", child.program.name)
        return ended

    def _record(self) -> None:
        running = [(child.program, child.process.pid) for batch in self.batches for child in batch if child.process]
        record(self.home / "run" / "processes.json", running)


def _ending(returncode: int) -> str:
    return f"by {signal.Signals(-returncode).name}" if returncode < 0 else f"with exit code {returncode}"
