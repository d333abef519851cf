import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from hook0.programs import end_recorded, identify

PATIENCE = 20.0  # a bound for what should take a moment


class Run:
    """A fake product that runs, and what it has said so far."""

    def __init__(self, home: Path, *names: str, patience: float = 1) -> None:
        self.output = home.with_name(f"{home.name}.{time.monotonic_ns()}.out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.hook0.fake_product", str(home), *names],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "FAKE_PATIENCE": str(patience)},
                # The suite itself may run under nohup, which ignores SIGHUP for all that it starts.
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def wait_for(self, pattern: str, times: int = 1) -> list[str]:
        wait_until(lambda: len(re.findall(pattern, self.said)) >= times, lambda: f"{pattern!r} in:\n{self.said}")
        return re.findall(pattern, self.said)

    def pid_of(self, name: str) -> int:
        return int(self.wait_for(rf"{name} +\| pid is (\d+)")[-1])

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


Start = Callable[..., Run]


def wait_until(holds: Callable[[], bool], what: Callable[[], str] = lambda: "it") -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what()}"
        time.sleep(0.02)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    runs: list[Run] = []

    def start(*names: str, patience: float = 1) -> Run:
        runs.append(Run(home, *names, patience=patience))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.wait()
    end_recorded(home / "run" / "processes.json", patience=0)


def test_every_program_is_announced_once_it_is_ready(start: Start) -> None:
    run = start("one", "two")
    run.wait_for("everything is up")
    assert re.findall(r"^ready +(\w+) +\([\d.]+ s\)$", run.said, re.MULTILINE) == ["base", "one", "two"]


def test_the_product_is_not_up_while_one_program_is_not_ready(start: Start) -> None:
    run = start("one", "slow")
    run.wait_for("ready +one")
    run.wait_for(r"slow +\| pid is")
    assert "everything is up" not in run.said


def test_lines_are_relayed_with_the_name_of_their_program_and_logged(start: Start, home: Path) -> None:
    run = start("one")
    pid = run.pid_of("one")
    assert (home / "log" / "one.log").read_text() == f"pid is {pid}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_in_reverse_order(start: Start, number: signal.Signals) -> None:
    run = start("one", "two")
    run.wait_for("everything is up")
    assert run.end(number) == 0
    assert set(re.findall(r"(\w+) stops", run.said)) == {"base", "one", "two"}
    ended = re.findall(r"^ended +(\w+)$", run.said, re.MULTILINE)
    assert sorted(ended[:2]) == ["one", "two"]
    assert ended[2:] == ["base"], "what the others stand on goes last"


def test_a_signal_during_the_start_stops_what_has_started(start: Start) -> None:
    run = start("slow")
    pid = run.pid_of("slow")
    assert run.end() == 0
    assert identify(pid) is None


def test_a_program_that_dies_is_started_again(start: Start) -> None:
    run = start("one")
    first = run.pid_of("one")
    run.wait_for("everything is up")
    os.kill(first, signal.SIGKILL)
    run.wait_for("ready +one", times=2)
    assert run.pid_of("one") != first
    assert re.search("^died +one +by SIGKILL; starting it again in", run.said, re.MULTILINE)


def test_a_program_that_dies_leaves_no_process_behind(start: Start) -> None:
    run = start("parent")
    run.wait_for("everything is up")
    child = int(run.wait_for(r"its child is (\d+)")[0])
    os.kill(run.pid_of("parent"), signal.SIGKILL)
    wait_until(lambda: identify(child) is None)


def test_a_program_that_dies_again_and_again_ends_everything(start: Start, home: Path) -> None:
    run = start("one", "failing")
    assert run.process.wait(PATIENCE) == 1
    assert re.findall(r"^died +failing +(.*); starting it again in ([\d.]+) s$", run.said, re.MULTILINE) == [
        ("with exit code 3", pause) for pause in ("0.02", "0.04", "0.08", "0.16")
    ]
    assert f"failing has ended 5 times within a minute, the last time with exit code 3. The end of {home}" in run.said
    assert run.said.endswith("out of luck\n")
    assert "one stops" in run.said


def test_a_step_that_fails_shows_its_output_and_ends_everything(start: Start) -> None:
    run = start("step", "one")
    assert run.process.wait(PATIENCE) == 1
    assert re.search(r"step +\| out of luck", run.said)
    assert "step failed; its output is above" in run.said
    assert "base stops" in run.said
    assert not re.search(r"one +\|", run.said), "nothing may start after a failed step"


def test_a_program_that_does_not_stop_is_killed_in_the_end(start: Start) -> None:
    run = start("stubborn")
    pid = run.pid_of("stubborn")
    run.wait_for("everything is up")
    assert run.end() == 0
    assert identify(pid) is None


def test_a_second_signal_does_not_wait(start: Start) -> None:
    run = start("stubborn", patience=600)
    run.wait_for("everything is up")
    pid = run.pid_of("stubborn")
    run.process.send_signal(signal.SIGINT)
    run.wait_for("Stopping")
    run.end(signal.SIGINT)
    assert identify(pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_programs_do_not_outlive_a_killed_supervisor(start: Start) -> None:
    run = start("one", "two")
    run.wait_for("everything is up")
    pids = [run.pid_of(name) for name in ("base", "one", "two")]
    run.process.kill()
    wait_until(lambda: not any(identify(pid) for pid in pids))


def test_the_next_start_ends_what_a_killed_supervisor_has_left(start: Start) -> None:
    run = start("stubborn")
    run.wait_for("everything is up")
    left = run.pid_of("stubborn")
    run.process.kill()
    run.process.wait()
    assert identify(left), "the test needs a program that survives"
    again = start("one")
    again.wait_for("everything is up")
    assert f"ended leftover {left}" in again.said
    assert identify(left) is None


def test_a_process_that_was_given_the_number_of_ours_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    try:
        wait_until(lambda: identify(stranger.pid) is not None)
        who = identify(stranger.pid)
        assert who
        recorded = tmp_path / "processes.json"
        entries = [
            asdict(who) | {"stop": signal.SIGKILL, "started": "1"},
            asdict(who) | {"stop": signal.SIGKILL, "argv": ["python", "ours.py"]},
        ]
        recorded.write_text(json.dumps(entries))
        assert end_recorded(recorded) == []
        assert stranger.poll() is None
        recorded.write_text(json.dumps([asdict(who) | {"stop": signal.SIGKILL}]))
        assert end_recorded(recorded) == [who], "it would have been ended, had it been ours"
    finally:
        stranger.kill()
        stranger.wait()


def test_a_second_start_in_the_same_home_says_who_runs_there(start: Start, home: Path) -> None:
    first = start("one")
    first.wait_for("everything is up")
    second = start("one")
    assert second.process.wait(PATIENCE) == 1
    assert f"already runs in {home}, as process {first.process.pid}." in second.said
    assert "HOOK0_HOME=" in second.said
    assert first.process.poll() is None
