"""Traces of an NVIDIA GPU: by NVIDIA's own tracer where it is installed, and by events where it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

PROGRAM = """
import json, sys
import infinirt

device = infinirt.Device("nvidia")
device.set_current()
left, right = device.create_stream(), device.create_stream()
buffer = device.allocate(256 << 20, stream=left)
other = device.allocate(256 << 20, stream=right)
device.sync()
with infinirt.trace(sys.argv[1]) as trace:
    buffer.fill(1, stream=left)
    event = left.record()
    right.wait(event)
    other.copy_from(buffer, stream=right)
    device.sync()
process = trace.processes[0]
calls = {call.number: call for call in process.calls}
sync = [call for call in process.calls if call.function == "infinirtDeviceSynchronize"][-1]
print(json.dumps({
    "work": [[w.kind, calls[w.call].function, w.end - w.begin, w.begin - calls[w.call].begin, sync.end - w.end]
             for w in sorted(process.work, key=lambda w: w.begin) if w.call in calls],
    "second_after_first": process.work[-1].begin - process.work[0].end,
}))
"""


@pytest.mark.parametrize("tracer", ["cupti", "events"])
def test_work_has_its_calls_and_times_on_the_hosts_clock(tracer: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    environment = {
        **os.environ,
        **({"INFINIRT_CUPTI_LIBRARY": "/no/such/file"} if tracer == "events" else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(out)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    if tracer == "cupti" and "libcupti" in done.stderr:
        pytest.skip("NVIDIA's tracer is not installed: pip install nvidia-cuda-cupti")
    seen = json.loads(done.stdout.splitlines()[-1])
    assert [(kind, function) for kind, function, *_ in seen["work"]] == [
        ("fill", "infinirtMemsetAsync"),
        ("copy", "infinirtMemcpyAsync"),
    ]
    for _, _, duration, after_call, before_sync in seen["work"]:
        assert 20_000 < duration < 50_000_000  # 256 MiB, in nanoseconds
        assert after_call > -200_000  # the two clocks agree this well at least
        assert before_sync > -200_000
    assert seen["second_after_first"] > -20_000
    arrows = [e["ph"] for e in json.loads(out.read_text())["traceEvents"] if e.get("cat") == "order"]
    assert arrows == ["s", "f"]
