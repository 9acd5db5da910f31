"""A program under `infinirt sanitize` begins, runs and ends as it does without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sanitizing import NOTHING, sanitized, takes_interrupts

ABOUT_ITSELF = """
import __main__, inspect, pickle, sys
print(__name__, __file__, __package__, __spec__, type(__loader__).__name__, __main__.__dict__ is globals(), sys.argv)
class Point:
    x: int = 1
def scaled(factor: float) -> float: ...
print(Point.__annotations__, scaled.__annotations__, inspect.getsource(scaled), pickle.loads(pickle.dumps(Point)) is Point)
"""


def test_a_program_sees_what_it_sees_without(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ABOUT_ITSELF)
    said = []
    for words in ([], ["-m", "infinirt", "sanitize"]):
        done = subprocess.run(
            [sys.executable, *words, "script.py", "an argument"],
            capture_output=True, text=True, timeout=120, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]


AT_THE_END = {
    "an executor that nobody shuts down": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(2)\n"
        "print(pool.submit(device.allocate, 64).result().size)\n",
        "64\n",
    ),
    "a thread that is told to end": (
        "told = threading.Event()\n"
        "threading.Thread(target=told.wait).start()\n"
        "threading._register_atexit(told.set)\n",
        "",
    ),
    "named arguments of atexit": (
        "atexit.register(lambda **named: print(named), function=3, args=4)\n",
        "{'function': 3, 'args': 4}\n",
    ),
    "finalizers": (
        "class Cup: pass\ncup, buffer = Cup(), device.allocate(64)\nweakref.finalize(cup, print, 'over', buffer.size)\n",
        "over 64\n",
    ),
    "destructors that use the program's names": (
        "class Owner:\n"
        "    def __init__(self): self.pointer = infinirt.runtime.infinirtMalloc(64)[1]\n"
        "    def __del__(self): released(self.pointer)\n"
        "def released(pointer): print(infinirt.runtime.infinirtFree(pointer)[0].value)\n"
        "first = Owner()\ncycle = [Owner()]\ncycle.append(cycle)\n",
        "0\n0\n",
    ),
    "daemons that use the program's names": (
        "def poll():\n"
        "    while True:\n"
        "        for _ in range(1000): time.time()\n"
        "threading.Thread(target=poll, daemon=True).start()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "time.sleep(0.05)\n",
        "",
    ),
    "files that nobody closes": (
        "out, outs = open(1, 'w', closefd=False), [open(1, 'w', closefd=False)]\n"
        "def written(): print('written', file=out) or print('written', file=outs[0])\n"
        "written()\n",
        "written\nwritten\n",
    ),
    "timers": (
        "def late(*_): raise RuntimeError('late')\n"
        "signal.signal(signal.SIGALRM, late)\n"
        "def start(): signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
        "class Slow:\n"
        "    def __del__(self): time.sleep(0.05)\n"
        "slow = Slow()\n",
        "",
    ),
}
IMPORTS = (
    "import atexit, signal, threading, time, weakref\nimport infinirt\ndevice = infinirt.Device('cpu')\n"
)


@pytest.mark.parametrize("name", AT_THE_END)
def test_a_program_ends_as_it_does_without(tmp_path: Path, name: str) -> None:
    text, prints = AT_THE_END[name]
    done = sanitized(tmp_path, IMPORTS + text, timeout=60)
    assert (done.returncode, done.stdout) == (0, prints), done.stderr
    assert done.stderr.strip() == NOTHING


CONSUMER = """
import queue, threading, time
import infinirt
given, taken = queue.Queue(), threading.Event()
def consume():
    while True:
        buffer = given.get()
        buffer.fill(1)
        taken.set()
threading.Thread(target=consume, daemon=True).start()
given.put(infinirt.Device("cpu").allocate(64))
taken.wait()
"""


def test_what_a_daemon_holds_is_not_taken_for_a_leak(tmp_path: Path) -> None:
    done = sanitized(tmp_path, CONSUMER)
    assert done.returncode == 0, done.stderr
    assert "daemon threads that use a device still ran" in done.stderr


def test_a_daemon_that_uses_no_device_hides_no_leak(tmp_path: Path) -> None:
    daemon = "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    done = sanitized(tmp_path, f"{IMPORTS}{daemon}infinirt.runtime.infinirtMalloc(64)\n")
    assert done.returncode == 9, done.stderr
    assert "1 × leak" in done.stderr


WAITS_FOR_EVER = """
import queue, threading
threading.Thread(target=queue.Queue().get).start()
raise RuntimeError("this is what went wrong")
"""


def test_a_failure_is_shown_before_threads_are_waited_for(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WAITS_FOR_EVER)
    shown = tmp_path / "shown"
    with (
        shown.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "infinirt", "sanitize", script], stderr=errors, preexec_fn=takes_interrupts
        ) as running,
    ):
        try:
            deadline = time.monotonic() + 60
            while "this is what went wrong" not in shown.read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert "this is what went wrong" in shown.read_text()
            assert running.poll() is None
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 1
        finally:
            running.kill()
    said = shown.read_text()
    assert "KeyboardInterrupt" in said
    if sys.version_info < (3, 13):  # later the interpreter says it itself, with every frame
        assert "Exception ignored in: <module 'threading'" in said
        assert f"{os.sep}sanitizer{os.sep}" not in said, "the program's frames only"
    assert NOTHING in said


ENDS = {
    "sys.exit(3)": (3, ""),
    "sys.exit(-1)": (255, ""),
    "sys.exit('a reason')": (1, "a reason\n"),
    "sys.excepthook = lambda kind, error, trace: print('hook:', error)\nraise ValueError('x')": (1, ""),
    "sys.excepthook = lambda *_: sys.exit(7)\nraise ValueError('x')": (7, ""),
    "sys.excepthook = lambda *_: 1 / 0\nraise ValueError('x')": (1, "Error in sys.excepthook:\n"),
    "raise KeyboardInterrupt": (130, "Traceback"),
    "atexit.register(lambda: print('last:', repr(sys.last_value)))\nraise ValueError('x')": (1, "Traceback"),
}


@pytest.mark.parametrize("text", ENDS)
def test_the_exit_status_is_the_programs_own(tmp_path: Path, text: str) -> None:
    status, begins = ENDS[text]
    done = sanitized(tmp_path, f"import atexit, sys\n{text}\n")
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(begins)
    assert f"the program itself failed (exit status {status})" in done.stderr
    if "hook:" in text:
        assert done.stdout == "hook: x\n"
    if "last:" in text:
        assert done.stdout == "last: ValueError('x')\n"


def test_the_report_is_where_it_was_to_be(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nos.chdir('/')\nsys.stdout = sys.stderr = open(os.devnull, 'w')\n")
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", "--json", "report.json", script],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert NOTHING in done.stderr
    assert json.loads((tmp_path / "report.json").read_text()) == {"findings": [], "problems": []}


TIMEOUTS = """
import signal, time
import infinirt
class Timeout(Exception): pass
def late(*_): raise Timeout("time is up")
device = infinirt.Device("cpu")
stream = device.create_stream()
buffer = device.allocate({size}, stream=stream)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.signal(signal.SIGALRM, late) is signal.SIG_DFL
assert signal.getsignal(signal.SIGALRM) is late
reached = 0
for _ in range(10):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    end = time.monotonic() + 10
    try:
        while time.monotonic() < end:
            buffer.fill(1, stream=stream)
            stream.sync()
    except Timeout as error:
        reached += str(error) == "time is up"
print("reached", reached)
"""


@pytest.mark.parametrize("size", [64, 1 << 27])
def test_exceptions_of_signal_handlers_reach_the_program(tmp_path: Path, size: int) -> None:
    done = sanitized(tmp_path, TIMEOUTS.format(size=size))
    assert done.stdout == "reached 10\n", done.stderr
    assert done.stderr.strip() == NOTHING


SIGNALS = """
import asyncio, os, signal, threading, time
import infinirt
device = infinirt.Device("cpu")
stream = device.create_stream()
buffer = device.allocate(64, stream=stream)
def send(number, handled):
    for sent in range(1, 101):
        os.kill(os.getpid(), number)
        end = time.monotonic() + 5
        while len(handled) < sent and time.monotonic() < end: time.sleep(0.0002)

handled = []
signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(frame.f_code.co_filename))
sender = threading.Thread(target=send, args=(signal.SIGUSR1, handled))
sender.start()
while sender.is_alive():
    for _ in range(20): buffer.fill(1, stream=stream)
    time.sleep(0.0005)  # or the sender may wait for the interpreter's lock for seconds
print(len(handled), any("sanitizer" in name for name in handled))

async def main():
    seen = []
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, seen.append, 1)
    sender = threading.Thread(target=send, args=(signal.SIGUSR2, seen))
    sender.start()
    while sender.is_alive():
        for _ in range(20): buffer.fill(1, stream=stream)
        await asyncio.sleep(0.0005)  # or the sender may wait for the interpreter's lock for seconds
    print(len(seen))
asyncio.run(main())
"""


def test_every_signal_is_handled_once_and_outside_the_checker(tmp_path: Path) -> None:
    done = sanitized(tmp_path, SIGNALS)
    assert done.stdout == "100 False\n100\n", done.stderr
    assert done.stderr.strip() == NOTHING


FORKS = """
import os, sys, threading, time
import infinirt
device = infinirt.Device("cpu")
stop = False
def work():
    stream = device.create_stream()
    buffer = device.allocate(64, stream=stream)
    while not stop: buffer.fill(1, stream=stream)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
statuses = []
for _ in range(20):
    time.sleep(0.003)
    child = os.fork()
    if not child:
        buffer = device.allocate(64)
        buffer.fill(1)
        device.sync()
        sys.exit(bytes(buffer)[0] + 2)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop = True
for thread in threads: thread.join()
print(set(statuses))
"""


def test_forked_children_go_on_and_say_nothing(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    quiet = "ignore::DeprecationWarning"  # from 3.12 on Python warns of every fork beside threads
    done = sanitized(tmp_path, FORKS, "--json", str(report), timeout=100, PYTHONWARNINGS=quiet)
    assert done.stdout == "{3}\n", done.stderr
    assert done.stderr.strip() == NOTHING
    assert json.loads(report.read_text())["problems"] == []


def test_a_failure_of_the_checker_is_one_of_the_command(tmp_path: Path) -> None:
    breaks = "from infinirt.sanitizer.calls import Calls\nCalls.take = lambda self, call: 1 / 0\n"
    done = sanitized(tmp_path, f"{breaks}import infinirt\ninfinirt.Device('cpu').create_stream()\n")
    assert "the checker itself failed: ZeroDivisionError" in done.stderr
    assert done.returncode == 10
