"""Operators in Triton and NineToothed on the CPU device, interpreted, with PyTorch made impossible to import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "operators"

START = """
import sys, threading, time
sys.modules["torch"] = None  # whoever imports it fails
import numpy as np
import pytest
import triton
import triton.language as tl
import infinicore
import infinirt
import infinirt.triton as on_infinirt
from infinirt._triton_launch import milliseconds
from infiniop.schema import Attribute, Tensor
from infinicore.languages import check

@triton.jit
def half(x):
    return x * 0.5

@triton.jit
def axpy_kernel(out, x, y, n, a, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = half(2 * a * tl.load(x + i, mask=i < n)) + tl.load(y + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)

@infinicore.operator(
    tensors=(Tensor("out", "out"), Tensor("x"), Tensor("y")),
    attributes=(Attribute("a", "float", "The factor."),),
    dtypes=("F32",), reference=lambda np, x, y, a: a * x + y, domain=(-1.0, 1.0), extremes=False, ulps=64,
)
def axpy(out, x, y, a):
    axpy_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](out, x, y, x.numel(), a, num_warps=4)

x = infinicore.arange(100, dtype=infinicore.float32)
ones = infinicore.ones([100])
place = x._place
"""


def run(
    program: str, folder: Path, start: str = START, arguments: Sequence[str] = (), **environment: str
) -> str:
    """Its output. In a process of its own: Triton decides much when it is imported. As a file: it reads its kernels' text."""
    path = folder / "program.py"
    path.write_text(start + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "INFINIRT_DEVICE": "cpu", "HOME": str(folder), **environment},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


WITHOUT_TORCH = (
    "import runpy, sys; sys.modules['torch'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
)
pytestmark = pytest.mark.peer("triton")


@pytest.mark.parametrize("environment", [{}, {"TRITON_INTERPRET": "1"}], ids=["hooked", "interpret"])
def test_an_operator_in_the_interpreter(tmp_path: Path, environment: dict[str, str]) -> None:
    run(
        """
        assert axpy(x, ones, 2.0).tolist() == (x * 2.0 + ones).tolist()
        out = infinicore.zeros([100])
        assert axpy(x, ones, a=3, out=out) is out and out[-1].item() == 298.0
        with pytest.raises(TypeError, match="needs the argument 'a'"):
            axpy(x, ones)
        print(check(axpy))
        assert sys.modules["torch"] is None
        """,
        tmp_path,
        **environment,
    )


def test_work_is_in_the_order_of_the_stream(tmp_path: Path) -> None:
    run(
        """
        axpy(x, ones, 1.0)
        gate = threading.Event()
        place.stream.launch_host_func(gate.wait, 60)
        source = infinicore.zeros([100])
        source.fill_(4)
        out = axpy(source, ones, 2.0)
        again = axpy(out, ones, 1.0)
        del source, out  # what is let go of is used again in the order of the stream, too
        other = [infinicore.full([100], 77.0) for _ in range(4)]
        assert not place.stream.query()
        gate.set()
        assert again.tolist() == [10.0] * 100
        """,
        tmp_path,
    )


def test_calls_are_recorded_with_what_they_use(tmp_path: Path) -> None:
    run(
        """
        for share in (True, False):
            source = infinicore.zeros([100])
            with infinicore.record(share_memory=share) as recorded:
                y = axpy(source * 2.0, infinicore.ones([100]), 3.0)
                y = axpy(y + 1.0, y, 1.0)
            graph, kept = recorded.graph, source[:]
            assert graph.segment_count == 1, graph.explain()
            assert graph.explain().count("axpy_kernel(float32[100]") == 2
            source.fill_(1)
            graph.run()
            assert y.tolist() == [15.0] * 100
            kept.fill_(2)
            del kept, source
            junk = [infinicore.full([100], 9.0) for _ in range(10)]  # not in memory that the graph has
            graph.run()
            assert y.tolist() == [27.0] * 100
            del graph, recorded
        # A tensor that only the recorded kernel has.
        with infinicore.record() as recorded:
            y = axpy(x, ones, 1.0)
        want = (x + ones).tolist()
        del x, ones
        junk = [infinicore.full([100], 9.0) for _ in range(10)]
        recorded.graph.run()
        assert y.tolist() == want
        """,
        tmp_path,
    )


def test_a_kernel_that_fails_is_told(tmp_path: Path) -> None:
    said = run(
        """
        @triton.jit
        def bad_kernel(y, x, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)  # no power of two
            tl.store(y + i, tl.load(x + i))

        @infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: x)
        def bad(y, x):
            bad_kernel[(1,)](y, x, 3, BLOCK=3)

        bad(x)
        place.sync()
        with pytest.raises(RuntimeError, match="bad_kernel failed on cpu:0 in an earlier launch.*power of 2"):
            axpy(x, ones, 1.0)
        assert axpy(x, ones, 1.0)[0].item() == 1.0
        with pytest.raises(RuntimeError, match="bad_kernel failed"):
            check(bad)

        @infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: x)
        def forgetful(y, x):
            bad_kernel[(1,)](y, x)

        with pytest.raises(TypeError, match="bad_kernel: missing a required argument: 'n'"):
            forgetful(x)

        @infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: x)
        def nowhere(y, x):
            bad_kernel["many"](y, x, 3, BLOCK=4)

        with pytest.raises(ValueError, match="the grid of bad_kernel is 'many'; one to three whole numbers"):
            nowhere(x)
        """,
        tmp_path,
    )
    assert "Traceback" in said  # at once, too
    assert "power of 2" in said


def test_what_triton_does_by_itself_is_as_it_was(tmp_path: Path) -> None:
    run(
        """
        parts = (tl, tl.core, tl.math, tl.standard)
        before = [dict(vars(part)) for part in parts]
        axpy(x, ones, 1.0)
        place.sync()
        for part, names in zip(parts, before, strict=True):
            assert [name for name in names if getattr(part, name) is not names[name]] == []
        with pytest.raises(RuntimeError, match="Cannot call @triton.jit'd outside of the scope of a kernel"):
            half(1.0)
        with pytest.raises(Exception):  # no block, no GPU
            axpy_kernel[(1,)](x, x, ones, 100, 1.0)

        tuned_kernel = triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])(axpy_kernel)

        @infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: x)
        def tuned(y, x):
            tuned_kernel[(1,)](y, x, x, x.numel(), 1.0)

        assert tuned(x)[:3].tolist() == [0.0, 2.0, 4.0]  # the first: 32 of the elements
        with infinicore.record() as recorded:
            y = tuned(x)
        y.fill_(7)
        recorded.graph.run()
        assert y.tolist() == [2.0 * i for i in range(32)] + [7.0] * 68

        # What times them on a GPU: each is made, whoever wants to see launches.
        seen = []
        with on_infinirt.stream(place.stream, seen.append):
            out = infinicore.zeros([100])
            times = milliseconds(lambda: axpy_kernel[(2,)](out, x, ones, 100, 1.0), (0.5, 0.2, 0.8))
        assert len(times) == 3 and times[1] <= times[0] <= times[2] and seen == []
        assert out.tolist() == (x + ones).tolist()
        with pytest.raises(RuntimeError, match="inside a block"):
            milliseconds(print)
        """,
        tmp_path,
    )


def test_a_kernel_sees_its_module_as_it_is_and_leaves_it_so(tmp_path: Path) -> None:
    run(
        """
        STEP = tl.constexpr(1)

        @triton.jit
        def step_kernel(y, x, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) + STEP, mask=i < n)

        @infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: x + 1)
        def step(y, x):
            step_kernel[(1,)](y, x, x.numel(), BLOCK=128)

        names = set(globals())
        assert step(ones)[0].item() == 2.0
        STEP = tl.constexpr(5)
        assert step(ones)[0].item() == 6.0
        assert set(globals()) - names == {"names"}
        """,
        tmp_path,
    )


def test_threads_interpret_at_once(tmp_path: Path) -> None:
    run(
        """
        errors = []
        def work(seed):
            try:
                mine = infinicore.full([100], float(seed))
                for i in range(10):
                    assert axpy(mine, ones, float(i)).tolist() == [seed * i + 1.0] * 100
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not errors, errors
        """,
        tmp_path,
    )


def test_forks_and_ends_with_work_under_way(tmp_path: Path) -> None:
    said = run(
        """
        import os
        assert axpy(x, ones, 1.0)[5].item() == 6.0
        child = os.fork()
        if child == 0:
            os._exit(0 if axpy(x, ones, 2.0)[5].item() == 11.0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        for _ in range(5):
            left = axpy(infinicore.ones([5000]), infinicore.ones([5000]), 1.0)
        """,
        tmp_path,
    )
    assert "Traceback" not in said


def test_blocks_of_infinirt_take_a_cpu_stream(tmp_path: Path) -> None:
    run(
        """
        device = infinirt.Device("cpu")
        stream = device.create_stream()
        data = [device.allocate(400, stream=stream) for _ in range(3)]
        for buffer in data[:2]:
            buffer.copy_from(np.full(100, 2.0, "float32"), stream=stream)
        seen = []
        with on_infinirt.stream(stream, lambda launch: (seen.append(launch.name), launch())):
            given = [on_infinirt.tensor(data[i], "float32") for i in (2, 0, 1)]
            axpy_kernel[(2,)](*given, 100, 3.0)
        back = np.empty(100, "float32")
        data[2].copy_to(back, stream=stream)
        stream.sync()
        assert (back == 8.0).all() and seen == ["axpy_kernel"]

        # Tensors in tuples are arguments, too.
        @triton.jit
        def pair_kernel(out, pair, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(pair[0] + i, mask=i < n) - tl.load(pair[1] + i, mask=i < n), mask=i < n)

        out, launches = infinicore.zeros([100]), []
        with on_infinirt.stream(place.stream, lambda launch: (launches.append(launch), launch())):
            pair_kernel[(1,)](out, (x, ones), 100, BLOCK=128)
        assert out.tolist() == (x - ones).tolist()
        assert [id(a) for a in launches[0].arguments[:3]] == [id(out), id(x), id(ones)]
        """,
        tmp_path,
    )


def test_bfloat16_is_computed_as_a_gpu_does(tmp_path: Path) -> None:
    run(
        """
        @triton.jit
        def narrow_kernel(y, a, b, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            left, right = tl.load(a + i, mask=i < n), tl.load(b + i, mask=i < n)
            tl.store(y + i, tl.where(left < right, left * right, left + right), mask=i < n)

        @infinicore.operator(
            tensors=(Tensor("y", "out"), Tensor("a"), Tensor("b")), dtypes=("BF16", "F16"), domain=(-4.0, 4.0),
            reference=lambda np, a, b: np.where(a < b, a * b, a + b),
        )
        def narrow(y, a, b):
            narrow_kernel[(1,)](y, a, b, a.numel(), BLOCK=triton.next_power_of_2(a.numel()))

        print(check(narrow))
        """,
        tmp_path,
    )


COMPILED = """
import runpy, types
from triton.backends.compiler import GPUTarget
from infinirt import _triton_launch

class Driver:
    "Answers for a GPU that is not there; what it is given to launch is compiled, and counted."
    def __init__(self, arch):
        self.arch, self.launched, self.utils, self.launcher_cls = arch, [], self, self.launcher
    def launcher(self, source, metadata):
        return lambda x, y, z, stream, *rest: self.launched.append((source.name, x, stream))
    def get_device_properties(self, device):
        return {"max_shared_mem": 166912, "max_num_regs": 65536, "multiprocessor_count": 108, "warpSize": 32}
    def load_binary(self, name, kernel, shared, device):
        assert kernel[:4] == b"\\x7fELF"
        return 1, 2, 32, 0, 1024
    def get_current_device(self):
        return self.arch
    def get_current_stream(self, device):
        return 77
    def get_current_target(self):
        return GPUTarget("cuda", self.arch, 32)

_triton_launch.installed()
found = {}
for path in sys.argv[1:]:
    found.update(runpy.run_path(path))
for arch in (80, 90):
    gpu = types.SimpleNamespace(device=types.SimpleNamespace(type="nvidia"))
    driver = Driver(arch)
    triton.runtime.driver.set_active(driver)
    _triton_launch._thread.target = _triton_launch.Block(gpu, lambda launch: (launch.prepare(), launch()))
    for dtype in (infinicore.float16, infinicore.bfloat16, infinicore.float32):
        x, w = infinicore.ones([8, 100], dtype=dtype), infinicore.ones([100], dtype=dtype)
        found["softmax"].__wrapped__(x, x)
        found["fused_add_rms_norm"].__wrapped__(x, x, x, x, w, 1e-5)
        found["fused_add_rms_norm"].__wrapped__(x, x, x, x, None, 1e-5)
        for name, given in (("tiled_add", (x, x, x)), ("tiled_matmul", (x[:, :8], x, x.T))):
            kernel = found[name].__wrapped__.__globals__["kernel"]
            kernel._kernels["cpu"] = kernel._make("nvidia")
            found[name].__wrapped__(*given)
    assert len(driver.launched) == 15 and {stream for _, _, stream in driver.launched} == {77}, driver.launched
"""


@pytest.mark.full
@pytest.mark.peer("ninetoothed")
def test_examples_compile_for_gpus(tmp_path: Path) -> None:
    """Down to machine code, by what a GPU is given; only the launch itself is left out."""
    paths = [str(path) for path in sorted(EXAMPLES.glob("*.py"))]
    run(COMPILED, tmp_path, arguments=paths, TRITON_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.peer("ninetoothed")
def test_what_the_manual_shows(tmp_path: Path) -> None:
    text = (EXAMPLES.parents[1] / "docs" / "operators-in-python.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```py\n(.*?)^```", text, re.M | re.S)
    assert len(shown) == 2
    for program, said in zip(shown, ("softmax on cpu:0", "[6.0, 6.0, 6.0]"), strict=True):
        assert said in run(program, tmp_path, start="")


@pytest.mark.full
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.peer("ninetoothed")] if "ninetoothed" in path.stem else [])
        for path in sorted(EXAMPLES.glob("*.py"))
    ],
    ids=lambda path: path.stem,
)
@pytest.mark.parametrize("device", ["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)])
def test_example(path: Path, device: str, tmp_path: Path) -> None:
    """They end with check(), on the device that is the process's first choice."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(path)],
        capture_output=True,
        text=True,
        timeout=240,
        env={
            **os.environ,
            "INFINIRT_DEVICE": device,
            "HOME": str(tmp_path),
            "TRITON_CACHE_DIR": str(tmp_path / "cache"),
        },
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"on {'cuda' if device == 'nvidia' else device}:0: " in done.stdout
    assert "trials, all as NumPy's" in done.stdout
