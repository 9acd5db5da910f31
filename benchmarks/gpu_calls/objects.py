"""What all routes of `gpu_calls_bench.py` work on."""

from __future__ import annotations

from typing import Any

import infinirt
from infinirt import runtime as rt


def ok(result: tuple[Any, ...]) -> Any:
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()[1]
    return None if len(result) == 1 else result[1]


class Objects:
    """One of each, shared by all routes."""

    def __init__(self) -> None:
        self.device = infinirt.Device("nvidia:0")
        self.device.set_current()
        self.stream = self.device.create_stream(nonblocking=True)
        self.event = self.device.create_event()
        self.buffer, self.other = (self.device.allocate(4096, stream=self.stream) for _ in range(2))
        pool = ok(rt.infinirtDeviceGetDefaultMemPool(0))
        threshold = rt.infinirtMemPoolAttr.infinirtMemPoolAttrReleaseThreshold
        ok(rt.infinirtMemPoolSetAttribute(pool, threshold, rt.cuuint64_t((1 << 64) - 1)))
        code = infinirt.Program('extern "C" __global__ void nothing() {}').compile()
        self.kernel = code.get_kernel("nothing")
        self.graphs = []
        for count in (1, 100):
            with infinirt.capture(self.stream) as captured:
                for _ in range(count):
                    self.buffer.fill(0, stream=self.stream)
            self.graphs.append(captured.graph.instantiate())
        self.stream.record(self.event)
        self.device.sync()
        self.s, self.e = int(self.stream.handle), int(self.event.handle)
        self.a, self.b = int(self.buffer.handle), int(self.other.handle)
        self.k = int(self.kernel.handle)
        self.g1, self.g100 = (int(graph.handle) for graph in self.graphs)


def library_path() -> str:
    for i in range(ok(rt.infinirtXGetDeviceTypeCount())):
        info = ok(rt.infinirtXGetDeviceTypeInfo(i))
        if info.name == "nvidia":
            return str(info.origin).split(" (")[0]
    raise AssertionError
