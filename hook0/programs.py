"""Programs we run: starting them so that they end with us, and knowing them again later."""

import ctypes
import json
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from hook0.installation import write_private

Account = pwd.struct_passwd
PR_SET_PDEATHSIG = 1
PATIENCE = 75.0  # a request may take a minute, and a Celery worker's warm shutdown 15 s on a loaded machine

_libc = ctypes.CDLL(None)


class StartError(Exception):
    """Something does not start or stay up; the text tells an operator what to do about it."""


@dataclass(frozen=True)
class Program:
    """What to run and as whom, how it is asked to end, and how one sees that it serves."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    cwd: str = "/"
    account: Account | None = None
    stop: signal.Signals = signal.SIGTERM
    kill: signal.Signals = signal.SIGKILL
    address: str = ""
    is_ready: Callable[[], bool] | None = None  # None: it touches the file that HOOK0_READY_FILE names
    quiet: bool = False  # its lines go to its log alone


def spawn(program: Program, log: Path, ready_file: Path | None = None) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, out of reach of the terminal's Ctrl-C, writing to `log`."""
    env = dict(os.environ if program.env is None else program.env)
    if ready_file:
        env["HOOK0_READY_FILE"] = str(ready_file)
    account = program.account
    with log.open("ab") as output:
        return subprocess.Popen(
            program.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=program.cwd,
            start_new_session=True,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            # After the change of user, which would clear it. We have no threads that it could trip over.
            preexec_fn=partial(_end_with_parent, program.stop, os.getpid()),  # noqa: PLW1509
        )


def _end_with_parent(stop: int, parent: int) -> None:
    """Have the kernel send `stop` when our parent dies, however it dies (Linux alone can)."""
    if hasattr(_libc, "prctl"):
        _libc.prctl(PR_SET_PDEATHSIG, int(stop))
        if os.getppid() != parent:
            os._exit(1)


def kill_group(pid: int) -> None:
    """End what a program has left behind in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end(program: Program, process: subprocess.Popen[bytes], patience: float = PATIENCE) -> None:
    """Ask it to end, wait, insist."""
    process.send_signal(program.stop)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        insist(program, process)
        process.wait()
    kill_group(process.pid)


def insist(program: Program, process: subprocess.Popen[bytes], *, harder: bool = False) -> None:
    """End it without asking: in its own way first, if it has one."""
    if harder or program.kill is signal.SIGKILL:
        kill_group(process.pid)
    else:
        process.send_signal(program.kill)


@dataclass(frozen=True)
class Identity:
    """A process, told from a later one that was given the same number."""

    pid: int
    started: str
    argv: list[str]


def identify(pid: int) -> Identity | None:
    """Who has this number now; None for nobody, and where there is no /proc to ask."""
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
        return Identity(pid, _started(pid), argv) if argv else None
    except OSError:
        return None


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def record(path: Path, running: Iterable[tuple[Program, int]]) -> None:
    """Write down which processes are ours, for the next start after a crash of this one."""
    entries = []
    for program, pid in running:
        with suppress(OSError):
            # Not what /proc says of its arguments: for a moment after the start it says nothing.
            who = Identity(pid, _started(pid), list(program.argv))
            entries.append(asdict(who) | {"stop": program.stop})
    write_private(path, json.dumps(entries))


def end_recorded(path: Path, patience: float = PATIENCE) -> list[Identity]:
    """End those of an earlier run's processes that still run, and nothing else; answers which."""
    try:
        entries = [(entry.pop("stop"), Identity(**entry)) for entry in json.loads(path.read_text())]
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return []
    left = [(stop, who) for stop, who in reversed(entries) if identify(who.pid) == who]
    for stop, who in left:
        with suppress(ProcessLookupError):
            os.kill(who.pid, stop)
    deadline = time.monotonic() + patience
    while running := [who for _, who in left if identify(who.pid) == who]:
        if time.monotonic() > deadline:
            for who in running:
                kill_group(who.pid)
        time.sleep(0.05)
    path.unlink()
    return [who for _, who in left]
