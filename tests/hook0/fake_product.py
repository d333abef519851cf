"""Small fake programs under the real supervisor: `python -m tests.hook0.fake_product HOME NAME...`.

A program does what its name begins with; `step` stands for a step that fails.
"""

import os
import sys
from pathlib import Path

from hook0.console import Console
from hook0.programs import Program, StartError, end_recorded
from hook0.startup import claimed
from hook0.supervisor import Supervisor

SERVE = """
import os, signal, subprocess, sys, time

def stop(number, frame):
    print(name, "stops", flush=True)
    sys.exit()

name = sys.argv[1]
signal.signal(signal.SIGTERM, signal.SIG_IGN if name.startswith("stubborn") else stop)
if name.startswith("parent"):
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    print("its child is", child.pid, flush=True)
print("pid is", os.getpid(), flush=True)
if not name.startswith("slow"):
    open(os.environ["HOOK0_READY_FILE"], "w").close()
while True:
    time.sleep(1)
"""
FAIL = "import sys; print('out of luck'); sys.exit(3)"
PATIENCE = float(os.environ.get("FAKE_PATIENCE", "1"))


def program(name: str) -> Program:
    return Program(name, (sys.executable, "-S", "-c", FAIL if name.startswith(("failing", "step")) else SERVE, name))


def main(home: Path, names: list[str]) -> None:
    console = Console(sys.stdout)
    with claimed(home), Supervisor(home, console, pause=0.02, patience=PATIENCE) as supervisor:
        for left in end_recorded(home / "run" / "processes.json", PATIENCE):
            console.say(f"ended leftover {left.pid}")
        supervisor.start([program("base")])
        supervisor.wait_until_ready()
        for name in [name for name in names if name.startswith("step")]:
            supervisor.run(program(name))
        supervisor.start(program(name) for name in names if not name.startswith("step"))
        supervisor.wait_until_ready()
        console.say("everything is up")
        supervisor.watch()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except KeyboardInterrupt:
        sys.exit(0)
    except StartError as problem:
        sys.exit(str(problem))
