"""The whole suite, a folder at a time on two workers: most tests wait for other processes part of their time, and one
after the other would leave a core idle. Usage: `python tools/test.py [PYTEST_OPTIONS...]`.

What a folder's tests print is shown when they have ended, and kept in build/tests/FOLDER.log; a table comes last.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).parents[1]
WORKERS = 2

# The long ones first, so that the workers end together; tests/cpp before all, since it builds programs beside the others.
FIRST = (
    "cpp",
    "ops",
    "unit",
    "infinicore",
    "ccl",
    "conformance_kit",
    "paddle_guest",
    "conformance",
    "packaging",
)

NO_TESTS_CHOSEN = 5  # pytest's status where -m or -k leaves nothing of a folder: no failure


@dataclass
class Outcome:
    folder: str
    status: int
    seconds: float
    counts: str


class Suite:
    def __init__(self, options: list[str]) -> None:
        self.options = options
        self.logs = ROOT / "build" / "tests"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.waiting: SimpleQueue[str] = SimpleQueue()
        self.running: set[subprocess.Popen[bytes]] = set()
        self.outcomes: list[Outcome] = []
        self.lock = threading.Lock()
        self.stopped = False

    def run(self, folders: list[str]) -> int:
        for folder in folders:
            self.waiting.put(folder)
        workers = [threading.Thread(target=self.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            self.stop()
            for worker in workers:
                worker.join()
            return 130
        self.print_table()
        return 1 if any(outcome.status for outcome in self.outcomes) else 0

    def work(self) -> None:
        while True:
            try:
                folder = self.waiting.get_nowait()
            except Empty:
                return
            self.run_folder(folder)

    def run_folder(self, folder: str) -> None:
        log = self.logs / f"{folder}.log"
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", *self.options, f"tests/{folder}"]
        with log.open("wb") as output:
            with self.lock:
                if self.stopped:
                    return
                process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
                self.running.add(process)
                print(f".. tests/{folder}", flush=True)
            status = process.wait()
        text = log.read_text(errors="replace")
        outcome = Outcome(
            folder, 0 if status == NO_TESTS_CHOSEN else status, time.monotonic() - began, counts_of(text)
        )
        with self.lock:
            self.running.discard(process)
            self.outcomes.append(outcome)
            print(f"\n== tests/{folder} ({outcome.seconds:.0f} s)\n{text}", end="", flush=True)

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for process in self.running:
                process.terminate()

    def print_table(self) -> None:
        print("\n== tests, by folder")
        for outcome in sorted(self.outcomes, key=lambda each: each.folder):
            verdict = "ok" if outcome.status == 0 else "FAILED"
            print(f"{outcome.folder:<16} {verdict:<7} {outcome.seconds:5.0f} s  {outcome.counts}")


def counts_of(text: str) -> str:
    """'3 passed, 1 skipped' of the line that pytest prints last."""
    found = re.findall(r"(?m)^(?:=+ )?((?:\d+ \w+(?:, )?)+) in [0-9.]+s", text)
    return found[-1] if found else "no summary: see its output"


def folders() -> list[str]:
    found = sorted(path.parent.name for path in ROOT.glob("tests/*/test_*.py"))
    names = list(dict.fromkeys(found))
    return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


if __name__ == "__main__":
    sys.exit(Suite(sys.argv[1:]).run(folders()))
