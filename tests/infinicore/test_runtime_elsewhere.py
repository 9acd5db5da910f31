"""A Runtime on a device whose memory the host cannot reach, and which has no operators: the simulator of the examples."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import dedent

from installed import output_of

BACKENDS = Path(__file__).resolve().parents[2] / "examples" / "backends"


def test_everything_but_operators_works_there() -> None:
    said = output_of(
        sys.executable,
        "-W",
        "error",
        "-c",
        dedent("""
        import numpy as np
        import infinicore, infinirt, simulator
        simulator.Simulator().register()
        assert infinicore.get_device_count("simulator") == 2
        infinicore.set_device("simulator:1")
        runtime = infinicore.get_runtime()
        data = np.arange(256, dtype=np.float32)
        memory = runtime.allocate_memory(4096)
        pinned = runtime.allocate_pinned_host_memory(1024)
        assert pinned.is_pinned() and not memory.is_pinned()
        runtime.memcpy_h2d(pinned, data, 1024)
        runtime.memcpy_h2d(memory, pinned, 1024)
        runtime.start_graph_recording()
        scratch = runtime.allocate_memory(1024)
        runtime.add_graph_operator(lambda: runtime.memcpy_d2d(scratch, memory, 1024))
        runtime.add_graph_operator(lambda: runtime.memcpy_d2d(memory.data() + 1024, scratch, 1024))
        graph = runtime.stop_graph_recording()
        assert (graph.operator_count, graph.segment_count) == (2, 1)
        graph.run()
        back = np.empty_like(data)
        runtime.memcpy_d2h(back, memory.data() + 1024, 1024)
        assert (back == data).all(), back
        start, end = runtime.create_event(), runtime.create_event()
        runtime.record_event(start)
        runtime.set_device_memory_async(memory, 0, 4096)
        runtime.record_event(end)
        assert runtime.elapsed_time(start, end) >= 0
        try:
            runtime.infiniop_handle
        except NotImplementedError as error:
            print(error)
        try:
            runtime.allocate_memory(1 << 40)
        except MemoryError as error:
            print(error)
        runtime.trim_memory()
        """),
        PYTHONPATH=os.pathsep.join([str(BACKENDS), os.environ.get("PYTHONPATH", "")]),
        INFINIRT_DEVICE="cpu",
    )
    assert "no operators for device type 'simulator'" in said
    assert "1099511627776 bytes were asked for; the cache of simulator:1 holds" in said
