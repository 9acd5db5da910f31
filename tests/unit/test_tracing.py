"""Traces of real programs: what is in the file is what the program did, and a viewer can draw it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import infinirt
import infinirt.runtime as rt
from infinirt import _core, tracing
from infinirt.tracing import scratch_folder
from infinirt.tracing.chrome import chrome_trace
from infinirt.tracing.records import Call, Process, Work, read_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Slice = dict[str, Any]


class _Usage(NamedTuple):
    free: int


def slices(path: Path) -> list[Slice]:
    return [event for event in events(path) if event["ph"] == "X"]


def events(path: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return listed


def check_drawable(path: Path) -> None:
    """What a viewer needs: on every track slices nest or follow one another, and arrows begin and end in a slice."""
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for item in slices(path):
        tracks[item["pid"], item["tid"]].append((item["ts"], item["ts"] + item["dur"]))
    for spans in tracks.values():
        open_until: list[float] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= begin + 0.0005:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.0015, (begin, end, open_until)
            open_until.append(end)
    flows = defaultdict(list)
    for event in events(path):
        if event["ph"] in "sf":
            flows[event["id"]].append(event)
            spans = tracks[event["pid"], event["tid"]]
            assert any(begin - 0.0015 <= event["ts"] <= end + 0.0015 for begin, end in spans), event
    for pair in flows.values():
        assert [event["ph"] for event in pair] == ["s", "f"]
        assert pair[0]["ts"] <= pair[1]["ts"], "viewers drop an arrow that leads back in time"
    named = {(e["pid"], e["tid"]) for e in events(path) if e["ph"] == "M" and e["name"] == "thread_name"}
    assert tracks.keys() <= named


def named(path: Path, name: str) -> list[Slice]:
    return [item for item in slices(path) if item["name"] == name]


def infinirt_trace(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infinirt", "trace", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINIRT_DEVICE": "cpu", **environment},
    )


def sleep_together(meeting: threading.Barrier) -> None:
    meeting.wait(60)
    time.sleep(0.2)


def test_two_sleeping_streams_overlap(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    left, right = device.create_stream(), device.create_stream()
    with infinirt.trace(out) as trace:
        meeting = threading.Barrier(2)
        left.launch_host_func(sleep_together, meeting)
        right.launch_host_func(sleep_together, meeting)
        device.sync()
    first, second = named(out, "sleep_together")
    assert first["tid"] != second["tid"]
    assert first["dur"] >= 200_000
    shared = min(first["ts"] + first["dur"], second["ts"] + second["dur"]) - max(first["ts"], second["ts"])
    assert shared > 100_000
    assert trace.summary.overlapped > 100_000_000
    assert [line.busy >= 200_000_000 for line in trace.summary.streams] == [True, True]
    check_drawable(out)


def test_an_event_orders_and_is_drawn_as_an_arrow(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    left, right = device.create_stream(), device.create_stream()
    with infinirt.trace(out) as trace:
        left.launch_host_func(time.sleep, 0.5)
        right.wait(left.record())
        right.launch_host_func(time.sleep, 0.05)
        device.sync()
    first, second = sorted(named(out, "sleep"), key=lambda item: float(item["ts"]))
    assert second["ts"] >= first["ts"] + first["dur"]
    assert trace.summary.overlapped == 0
    arrows = [event for event in events(out) if event.get("cat") == "order"]
    assert [(a["ph"], a["pid"], a["tid"]) for a in arrows] == [
        ("s", first["pid"], first["tid"]),
        ("f", second["pid"], second["tid"]),
    ]
    assert trace.summary.streams[-1].waited > 10_000_000
    check_drawable(out)


def test_work_is_led_to_by_the_call_that_issued_it(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    stream = device.create_stream()
    with infinirt.trace(out) as trace:
        buffer = device.allocate(1 << 20, stream=stream)
        buffer.fill(1, stream=stream)
        stream.sync()
        buffer.close()
    calls = {item["args"]["call"]: item["name"] for item in slices(out) if item["cat"] == "call"}
    (fill,) = named(out, "fill 1 MiB")
    assert calls[fill["args"]["call"]] == "infinirtMemsetAsync"
    assert trace.summary.peak_memory == {"cpu:0": 1 << 20}
    counters = [event["args"]["bytes"] for event in events(out) if event["ph"] == "C"]
    assert counters == [1 << 20, 0]
    check_drawable(out)


def test_a_name_is_the_works_own_and_not_that_of_the_wait_before_it(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    device.set_current()
    stream = device.create_stream(options=infinirt.StreamOptions(nonblocking=False))
    buffer = device.allocate(1 << 20, stream=stream)
    stream.sync()
    with infinirt.trace(out):
        assert not rt.infinirtLaunchHostFunc(0, lambda _: time.sleep(0.05), 0)[0]
        _core.name_next_work("mine")
        buffer.fill(1, stream=stream)  # waits for the default stream
        stream.sync()
    assert [item["name"] for item in slices(out) if "mine" in item["name"]] == ["mine"]
    (mine,) = named(out, "mine")
    calls = {item["args"]["call"]: item["name"] for item in slices(out) if item["cat"] == "call"}
    assert calls[mine["args"]["call"]] == "infinirtMemsetAsync"
    assert mine["dur"] < 30_000  # microseconds: it is no wait
    buffer.close()


def test_graphs_are_expanded_and_their_branches_have_tracks(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    stream = device.create_stream()
    graph = infinirt.Graph()
    for _ in range(2):
        graph.add_host(time.sleep, 0.05)
    exec_ = graph.instantiate()
    with infinirt.trace(out):
        exec_.launch(stream)
        stream.sync()
    (launch,) = named(out, "graph launch")
    nodes = [item for item in slices(out) if item["args"].get("graph_launch")]
    assert {node["args"]["node"] for node in nodes} == {0, 1}
    assert {node["args"]["graph_launch"] for node in nodes} == {launch["args"]["call"]}
    for node in nodes:
        assert launch["ts"] - 0.002 <= node["ts"]
        assert node["ts"] + node["dur"] <= launch["ts"] + launch["dur"] + 0.002
    check_drawable(out)


def test_captured_work_leads_to_the_call_that_was_captured(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    device = infinirt.Device("cpu")
    stream = device.create_stream()
    with infinirt.trace(out) as trace:
        with infinirt.capture(stream) as captured:
            stream.launch_host_func(time.sleep, 0.001)
        exec_ = captured.graph.instantiate()
        exec_.launch(stream)
        stream.sync()
    calls = {call.number: call.function for call in trace.processes[0].calls}
    (node,) = [work for work in trace.processes[0].work if work.node >= 0]
    assert (node.title, calls[node.call]) == ("sleep", "infinirtXLaunchHostFunc")
    assert calls[node.graph_launch] == "infinirtGraphLaunch"
    check_drawable(out)


def test_ranges_nest_and_survive_what_is_raised(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    @infinirt.range("outer")
    def fails() -> None:
        with infinirt.range("inner"):
            infinirt.Device("cpu").sync()
            raise KeyError

    with infinirt.trace(out) as trace, pytest.raises(KeyError):
        fails()
    (outer,), (inner,) = named(out, "outer"), named(out, "inner")
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002
    assert [line.count for line in trace.summary.ranges] == [1, 1]
    check_drawable(out)
    with pytest.raises(TypeError, match="str"):
        infinirt.range(3)  # type: ignore[arg-type]


def test_operators_are_named(tmp_path: Path) -> None:
    import numpy as np

    import infinicore

    out = tmp_path / "out.json"
    tensor = infinicore.from_numpy(np.ones((256, 256), dtype="float32")).to("cpu")
    with infinirt.trace(out) as trace:
        infinicore.add(tensor, tensor)
        infinirt.Device("cpu").sync()
    assert [line.name for line in trace.summary.operations] == ["infiniopAdd"]
    (launch,) = [call for call in trace.processes[0].calls if call.accesses]
    assert [(access.bytes, access.writes) for access in launch.accesses] == [
        (4 * 256 * 256, True),
        (4 * 256 * 256, False),
        (4 * 256 * 256, False),
    ]
    assert launch.accesses[1].address == launch.accesses[2].address == tensor.data_ptr()


def test_order_on_a_vendors_streams_is_taken_from_the_calls() -> None:
    """Their own tracer gives work and no order: one call each to work, record, wait and work again."""

    def call(number: int, function: str, **arguments: int) -> Call:
        given = dict[str, int | tuple[int, int, int]](arguments)
        return Call(number, 1, function, 10 * number, 10 * number + 5, 0, "nvidia", 0, given, 0, "", ())

    def kernel(issuer: int, begin: int, stream: int) -> Work:
        return Work(
            issuer, begin, begin + 100, "kernel", f"k{stream}", "nvidia", 0, stream, 0, 0, 0, 0, -1, ()
        )

    process = Process(pid=1, threads={1: "main"})
    process.calls = [
        call(1, "infinirtLaunchKernel", stream=0x100),
        call(2, "infinirtEventRecord", event=0x500, stream=0x100),
        call(3, "infinirtStreamWaitEvent", stream=0x200, event=0x500, flags=0),
        call(4, "infinirtLaunchKernel", stream=0x200),
        call(5, "infinirtLaunchKernel", stream=0x200),
    ]
    process.work = [kernel(1, 1000, 7), kernel(4, 1200, 8), kernel(5, 1400, 8)]
    drawn = chrome_trace([process])["traceEvents"]
    assert isinstance(drawn, list)
    arrows = [(event["ph"], event["ts"]) for event in drawn if event.get("cat") == "order"]
    assert arrows == [
        ("s", 1.089),
        ("f", 1.19),
    ]  # the first kernel's end, the second's beginning; the third waits for nothing


def test_the_summary_prints_as_the_tables_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, for whoever asks
    device = infinirt.Device("cpu")
    trace = infinirt.trace(tmp_path / "out.json")
    assert repr(trace) == f"<trace {tmp_path / 'out.json'}: no result yet>"
    with trace, infinirt.range("[bold]a part[/]"):
        assert repr(trace) == f"<trace {tmp_path / 'out.json'}: running>"
        stream = device.create_stream()
        device.allocate(64, stream=stream).fill(1, stream=stream)
        stream.sync()
    shown = str(trace.summary)
    for words in (
        "Work by operation",
        "Ranges",
        "Calls",
        "Streams",
        "infinirtMemsetAsync",
        "in all; streams busy",
    ):
        assert words in shown
    assert "[bold]a part[/]" in shown  # names are no markup
    assert "\x1b" not in shown
    assert sum(line.total for line in trace.summary.ranges) <= trace.summary.duration
    assert max(map(len, shown.splitlines())) <= 120
    calls = sum(line.count for line in trace.summary.calls)
    assert re.fullmatch(
        rf"<trace .*/out\.json: {calls} calls, 1 piece of work on 1 stream, [\d.]+ ms>", str(trace)
    )


def test_the_summary_prints_what_the_command_prints(tmp_path: Path) -> None:
    script, raw = tmp_path / "script.py", tmp_path / "raw"
    script.write_text("import infinirt; infinirt.Device('cpu').allocate(64).fill(1)")
    done = infinirt_trace("-o", "", "--raw", str(raw), str(script))
    assert done.returncode == 0, done.stderr
    shown = [line.rstrip() for line in done.stderr.splitlines()]
    assert shown == str(tracing.convert(raw, None)[1]).splitlines()


def test_a_trace_of_nothing_replaces_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("of an earlier run")
    with infinirt.trace(tmp_path / "out.json"):
        pass
    assert "traceEvents" in json.loads((tmp_path / "out.json").read_text())


def test_a_second_trace_warns_and_changes_nothing(tmp_path: Path) -> None:
    with infinirt.trace(tmp_path / "out.json") as outer:
        with (
            pytest.warns(UserWarning, match="a trace runs already"),
            infinirt.trace(tmp_path / "in.json") as inner,
        ):
            infinirt.Device("cpu").sync()
        with pytest.raises(RuntimeError, match="another one was running"):
            _ = inner.summary
        assert "part of another one" in repr(inner)
    assert outer.summary.calls
    assert not (tmp_path / "in.json").exists()
    with pytest.raises(OSError, match="no such"), infinirt.trace(tmp_path / "no such folder" / "out.json"):
        pass


def test_failed_work_says_who_issued_it(tmp_path: Path) -> None:
    """A kernel that fails: the synchronisation raises, and names the operation, what ran before and the stack of the launch."""
    program = tmp_path / "fails.py"
    program.write_text(
        """
import ctypes, infinirt
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
broken = kind(lambda block, args: 719)
stream = infinirt.Device("cpu").create_stream()
kernel = infinirt.Kernel.from_address(ctypes.cast(broken, ctypes.c_void_p).value, [], "broken", owner=broken)
def issue():
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1, block=1), kernel)
stream.launch_host_func(print, "before")
issue()
try:
    stream.sync()
except infinirt.InfiniRTError as error:
    print(error)
"""
    )

    def printed(stacks: str) -> str:
        done = subprocess.run(
            [sys.executable, str(program)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "INFINIRT_DEVICE": "cpu", "INFINIRT_STACKS": stacks},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    plain = printed("")
    assert "it was kernel broken on stream" in plain
    assert "which had run before: host function" in plain
    assert "issued by" not in plain
    assert 'fails.py", line 8, in issue' in printed("1")


@pytest.mark.parametrize("example", ["streams_and_events", "graph_capture", "two_devices", "memory_pools"])
def test_examples_are_traced(example: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = infinirt_trace("--output", str(out), "--json", str(EXAMPLES / f"{example}.py"))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["lost"] == 0
    assert summary["processes"] == 1
    assert summary["streams"]
    assert sum(line["count"] for line in summary["calls"]) == len(
        [item for item in slices(out) if item["cat"] == "call"]
    )
    check_drawable(out)


def test_the_command_prints_tables_and_keeps_the_exit_status(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import infinirt, sys; infinirt.Device('cpu').sync(); print('hello'); sys.exit(7)")
    done = infinirt_trace("-o", str(tmp_path / "out.json"), "--raw", str(tmp_path / "raw"), str(script))
    assert done.returncode == 7
    assert done.stdout == "hello\n"
    assert "infinirtDeviceSynchronize" in done.stderr
    assert "ui.perfetto.dev" in done.stderr
    again = infinirt_trace("--json", "-o", "", "--raw", str(tmp_path / "raw"))
    assert again.returncode == 0, again.stderr
    assert [line["name"] for line in json.loads(again.stdout)["calls"]].count(
        "infinirtDeviceSynchronize"
    ) == 1


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('nothing of the runtime')")
    done = infinirt_trace("-o", str(tmp_path / "out.json"), str(script))
    assert done.returncode == 1
    assert "did not load the runtime" in done.stderr
    (tmp_path / "out.json").write_text("of an earlier run")
    script.write_text("raise SystemExit(3)")
    done = infinirt_trace("-o", str(tmp_path / "out.json"), str(script))
    assert done.returncode == 3
    assert (tmp_path / "out.json").read_text() == "of an earlier run"
    assert "failed (exit status 3) before it called the runtime" in done.stderr
    script.write_text("import infinirt")
    done = infinirt_trace("-o", str(tmp_path / "out.json"), str(script))
    assert done.returncode == 1
    assert (tmp_path / "out.json").read_text() == "of an earlier run"
    assert "the program called nothing of the runtime" in done.stderr
    done = infinirt_trace("nope.py")
    assert (done.returncode, done.stderr) == (2, "infinirt trace: there is no file nope.py\n")
    done = infinirt_trace("-o", str(tmp_path / "none" / "out.json"), str(script))
    assert done.returncode == 2
    assert "out.json cannot be written: there is no folder" in done.stderr
    assert infinirt_trace("no-such-program-here").returncode == 127
    assert "SCRIPT" in infinirt_trace().stderr
    (tmp_path / "1-1.irtrace").write_bytes(b"something else" * 10)
    done = infinirt_trace("--raw", str(tmp_path))
    assert done.returncode == 1
    assert "1-1.irtrace is not a trace" in done.stderr


def test_ranks_are_on_one_time_axis(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    script = tmp_path / "ranks.py"
    script.write_text(
        """
import infiniccl, infinirt
group = infiniccl.init_process_group()
device = infinirt.Device("cpu")
buffer = device.allocate(4096)
buffer.fill(0)
device.sync()
group.all_reduce(buffer, dtype="float32")
device.sync()
"""
    )
    done = infinirt_trace("-o", str(out), sys.executable, "-m", "infinirt", "run", "-n", "2", str(script))
    assert done.returncode == 0, done.stderr
    reduced = [item for item in slices(out) if item["name"].startswith("AllReduce")]
    assert {item["name"].split(", ")[1] for item in reduced} == {"rank 0 of 2", "rank 1 of 2"}
    first, second = reduced
    # Neither can end before both have begun.
    assert max(first["ts"], second["ts"]) <= min(first["ts"] + first["dur"], second["ts"] + second["dur"])
    check_drawable(out)


def test_streams_have_the_numbers_that_the_sanitizer_gives_them(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    script = tmp_path / "script.py"
    script.write_text(
        """
from infinirt import runtime as rt
memory = rt.infinirtMalloc(4096)[1]
rt.infinirtMemset(memory, 0, 4096)
first, second = rt.infinirtStreamCreateWithFlags(1)[1], rt.infinirtStreamCreateWithFlags(1)[1]
rt.infinirtMemsetAsync(memory, 1, 4096, second)
rt.infinirtMemsetAsync(memory, 2, 4096, first)
rt.infinirtDeviceSynchronize()
"""
    )
    done = infinirt_trace("-o", str(out), str(script))
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    titles = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"default stream", "stream 1", "stream 2"} <= titles
    reported = subprocess.run(
        [sys.executable, "-m", "infinirt", "sanitize", str(script)],
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    assert "on stream 1 of cpu:0" in reported
    assert "on stream 2 of cpu:0" in reported


def test_a_child_that_forks_has_its_own_part(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    script = tmp_path / "script.py"
    script.write_text(
        "import infinirt, os; d = infinirt.Device('cpu'); d.sync()\n"
        "if os.fork() == 0:\n    d.sync(); d.sync(); os._exit(0)\nos.wait()"
    )
    done = infinirt_trace("-o", "", "--raw", str(tmp_path / "raw"), str(script))
    assert done.returncode == 0, done.stderr
    found = [read_file(path) for path in (tmp_path / "raw").iterdir()]
    counts = sorted(sum(c.function == "infinirtDeviceSynchronize" for c in p.calls) for p in found)
    assert counts == [1, 2]
    pids = {process.pid for process in found}
    assert {process.parent for process in found} & pids


def test_recordings_lie_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, in_memory in ((1 << 40, True), (1 << 30, False)):
        monkeypatch.setattr("shutil.disk_usage", lambda path, free=free: _Usage(free))
        folder = Path(scratch_folder())
        assert (folder.parent == Path("/dev/shm")) == (in_memory and os.access("/dev/shm", os.W_OK))
        folder.rmdir()


def test_nothing_observes_by_default() -> None:
    assert not infinirt._core.is_observed()


def test_the_command_traces_a_module(tmp_path: Path) -> None:
    done = infinirt_trace("-o", str(tmp_path / "out.json"), "-m", "infinirt", "info")
    assert done.returncode == 0, done.stderr
    assert "backend  cpu" in done.stdout
    assert "infinirtMemGetInfo" in done.stderr
