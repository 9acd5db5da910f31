"""A plugin beside a GPU: copies between them, which go through host memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from installed import output_of
from plugin_files import toy

pytestmark = pytest.mark.gpu

PROGRAM = """
import sys
from infinirt import runtime as rt

def check(answer):
    assert answer[0] == 0, rt.infinirtXGetLastErrorMessage()
    return answer[1] if len(answer) > 1 else None

size = 3 << 20
data = bytes(range(256)) * (size // 256)
kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault
pointers = {}
for type in ("nvidia", "toy"):
    check(rt.infinirtXSetDeviceType(type))
    pointers[type] = check(rt.infinirtMalloc(size))
stream = check(rt.infinirtStreamCreate())  # of the plugin
for source, target in (("toy", "nvidia"), ("nvidia", "toy")):
    for type, value in ((source, data), (target, bytes(size))):
        check(rt.infinirtXSetDeviceType(type))
        check(rt.infinirtMemcpy(pointers[type], value, size, kind))
        check(rt.infinirtDeviceSynchronize())
    check(rt.infinirtXSetDeviceType("toy"))
    check(rt.infinirtMemcpyAsync(pointers[target], pointers[source], size, kind, stream))
    check(rt.infinirtStreamSynchronize(stream))
    back = bytearray(size)
    check(rt.infinirtXSetDeviceType(target))
    check(rt.infinirtMemcpy(back, pointers[target], size, kind))
    assert back == data, (source, target)
check(rt.infinirtXSetDeviceType("nvidia"))
stream = check(rt.infinirtStreamCreate())
error, = rt.infinirtMemcpyAsync(pointers["nvidia"], pointers["toy"], size, kind, stream)
assert error != 0 and "cannot reach" in rt.infinirtXGetLastErrorMessage()[1]
"""


@pytest.mark.parametrize("define", ["TOY_DEVICES=2", "TOY_LOW"])
def test_copies_on_a_plugins_stream_reach_a_gpu(define: str, tmp_path: Path) -> None:
    output_of(
        sys.executable,
        "-c",
        PROGRAM,
        INFINIRT_PLUGIN_PATH=str(toy(tmp_path, define)),
        INFINIRT_DEVICE="nvidia",
    )
