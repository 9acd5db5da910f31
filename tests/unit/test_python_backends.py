"""Device types written in Python, from the outside: what they must have, what becomes of what they raise, how they end."""

from __future__ import annotations

import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import infinirt
from installed import output_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "backends"
_names = iter(range(1000))


class Simple(infinirt.Backend):
    """The required methods, a list of what was called, and a trap: a method name and what it raises."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.trap: tuple[str, BaseException] | None = None
        self.live = 0

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.trap is not None and self.trap[0] == name:
            raise self.trap[1]

    def allocate(self, device: int, size: int) -> bytearray:
        self._called("allocate")
        self.live += 1
        return bytearray(size)

    def release(self, device: int, block: bytearray, size: int) -> None:
        self.live -= 1
        self._called("release")

    def write(self, device: int, block: bytearray, offset: int, data: memoryview) -> None:
        self._called("write")
        block[offset : offset + len(data)] = data

    def read(self, device: int, block: bytearray, offset: int, into: memoryview) -> None:
        self._called("read")
        into[:] = block[offset : offset + len(into)]


@pytest.fixture(scope="module")
def simple() -> Simple:
    Simple.type = "simple-python"
    made = Simple()
    assert made.register() == "simple-python"
    return made


@pytest.fixture
def device(simple: Simple) -> infinirt.Device:
    simple.trap = None
    return infinirt.Device("simple-python")


def contents(buffer: infinirt.Buffer) -> bytes:
    out = bytearray(buffer.size)
    buffer.copy_to(out)
    buffer.device.sync()
    return bytes(out)


def test_required_methods_make_a_device(simple: Simple, device: infinirt.Device) -> None:
    first, second = device.create_stream(), device.create_stream()
    buffer = device.allocate(1000, stream=first)
    buffer.fill(3, stream=first)
    second.wait(first)
    copy = buffer.copy_to(stream=second)
    part = copy[100:200]
    part.copy_from(bytes(range(100)), stream=second)
    assert contents(copy) == b"\3" * 100 + bytes(range(100)) + b"\3" * 800
    assert infinirt.support("infinirtMemcpyAsync", "simple-python") == "emulated"
    assert device.name == "simple-python"
    assert not buffer.is_host_accessible


def test_memory_goes_back(simple: Simple, device: infinirt.Device) -> None:
    before = simple.live
    buffer = infinirt.DirectResource(device).allocate(123)
    assert simple.live == before + 1
    buffer.close()
    assert simple.live == before


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (MemoryError("all gone"), infinirt.OutOfMemoryError),
        (ValueError("odd size"), infinirt.InvalidValueError),
        (NotImplementedError("one day"), infinirt.NotSupportedError),
        (KeyError("lost"), infinirt.InfiniRTError),
    ],
)
def test_what_is_raised_is_returned(
    simple: Simple, device: infinirt.Device, raised: Exception, error: type[Exception]
) -> None:
    simple.trap = ("allocate", raised)
    with pytest.raises(error, match=str(raised.args[0])) as caught:
        infinirt.DirectResource(device).allocate(1 << 20)
    assert type(raised).__name__ in str(caught.value)
    simple.trap = None
    assert infinirt.DirectResource(device).allocate(8).size == 8


def test_a_pool_says_what_the_device_said(simple: Simple, device: infinirt.Device) -> None:
    simple.trap = ("allocate", MemoryError("no more shelves"))
    with pytest.raises(infinirt.OutOfMemoryError, match=r"the device says: .*MemoryError: no more shelves"):
        infinirt.MemoryPool(device).allocate(1 << 20)
    simple.trap = None
    assert infinirt.MemoryPool(device).allocate(1 << 20).size == 1 << 20


def test_asynchronous_failures_surface_later(simple: Simple, device: infinirt.Device) -> None:
    stream = device.create_stream()
    buffer = device.allocate(64, stream=stream)
    stream.sync()
    simple.trap = ("write", RuntimeError("bus error"))
    buffer.fill(1, stream=stream)
    with pytest.raises(infinirt.InfiniRTError, match="RuntimeError: bus error"):
        stream.sync()
    simple.trap = None
    buffer.fill(2, stream=stream)
    assert contents(buffer) == b"\2" * 64


@pytest.mark.parametrize(
    "call",
    [
        lambda device: device.sync(),
        lambda device: device.default_stream.sync(),
        lambda device: infinirt.Device("cpu").sync(),
        lambda device: infinirt.DirectResource(device).allocate(8),
    ],
    ids=["device", "stream", "another device", "memory"],
)
def test_methods_that_call_the_package_get_an_error(
    simple: Simple, device: infinirt.Device, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run where streams do, and would wait for themselves."""
    write = simple.write

    def calling(number: int, block: bytearray, offset: int, data: memoryview) -> None:
        call(device)
        write(number, block, offset, data)

    buffer = device.allocate(8)
    buffer.copy_from(b"before!!")

    def copy() -> None:
        buffer.copy_from(b"not this")
        device.sync()

    with monkeypatch.context() as patch:
        patch.setattr(simple, "write", calling)
        with pytest.raises(
            infinirt.NotPermittedError, match=r"write of device type .* function of a backend"
        ):
            copy()
    buffer.copy_from(b"after it")
    seen = bytearray(8)
    buffer.copy_to(seen)
    device.sync()
    assert seen == b"after it"


def test_views_may_not_be_kept() -> None:
    kept: list[memoryview] = []

    class Keeper(Simple):
        type = "keeper-python"

        def write(self, device: int, block: bytearray, offset: int, data: memoryview) -> None:
            kept.append(data[:1])
            super().write(device, block, offset, data)

    Keeper().register()
    buffer = infinirt.DirectResource("keeper-python").allocate(16)
    buffer.fill(1)
    with pytest.raises(infinirt.InvalidValueError, match="kept a view"):
        infinirt.Device("keeper-python").sync()


def test_a_backend_that_lacks_something_is_refused() -> None:
    class Nothing(infinirt.Backend):
        type = "nothing-python"

    with pytest.raises(TypeError, match="allocate, release, write, read"):
        Nothing().register()

    class Nameless(Simple):
        type = ""

    with pytest.raises(TypeError, match="type"):
        Nameless().register()

    class Taken(Simple):
        type = "cpu"

    with pytest.raises(infinirt.InvalidValueError, match="'cpu' exists already"):
        Taken().register()

    class Odd(Simple):
        type = "with blanks"

    with pytest.raises(infinirt.InvalidValueError, match="no name for a device type"):
        Odd().register()

    class Many(Simple):
        type = "many-python"

        def device_count(self) -> int:
            return 65

    with pytest.raises(ValueError, match="64"):
        Many().register()


def test_no_device_is_no_device() -> None:
    class Empty(Simple):
        type = "empty-python"

        def device_count(self) -> int:
            return 0

    Empty().register()
    with pytest.raises(infinirt.InfiniRTError, match="no device"):
        infinirt.Device("empty-python").create_stream()
    info = {entry.name: entry for entry in infinirt.device_types()}["empty-python"]
    assert info.count == 0


def test_threads_and_streams_at_once(device: infinirt.Device) -> None:
    def work(value: int) -> None:
        stream = device.create_stream()
        for size in range(1, 60):
            buffer = device.allocate(size * 11, stream=stream)
            buffer.fill(value, stream=stream)
            out = bytearray(buffer.size)
            buffer.copy_to(out, stream=stream)
            stream.sync()
            assert out == bytes([value]) * buffer.size

    failures: list[BaseException] = []

    def guarded(value: int) -> None:
        try:
            work(value)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def run(code: str, **environment: Any) -> str:
    program = f"EXAMPLES = {str(EXAMPLES)!r}\n{textwrap.dedent(code)}"
    return output_of(sys.executable, "-X", "faulthandler", "-c", program, **environment)


def test_a_process_ends_well_with_work_pending() -> None:
    out = run(
        """
        import sys
        sys.path.insert(0, EXAMPLES)
        from simulator import Simulator
        import infinirt
        Simulator().register()
        device = infinirt.Device("simulator:1")
        stream = device.create_stream()
        buffers = [device.allocate(1 << 20, stream=stream) for _ in range(8)]
        for round in range(50):
            for buffer in buffers:
                buffer.fill(round, stream=stream)
        print("leaving")
        """
    )
    assert out.strip() == "leaving"


def test_calls_after_the_interpreter_fail_cleanly() -> None:
    """A C function that runs at the very end of the process, when Python has gone, frees memory of the device type."""
    out = run(
        """
        import ctypes, sys
        sys.path.insert(0, EXAMPLES)
        from simulator import Simulator
        import infinirt
        from infinirt import runtime as rt
        Simulator().register()
        infinirt.Device("simulator").set_current()
        error, memory = rt.infinirtMalloc(1 << 20)
        _, free = rt.infinirtXGetProcAddress("infinirtFree")
        libc = ctypes.CDLL("libc.so.6")
        libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
        assert libc.__cxa_atexit(int(free), int(memory), None) == 0
        print("leaving")
        """
    )
    assert out.strip() == "leaving"


def test_entry_points_bring_device_types(tmp_path: Path) -> None:
    package = tmp_path / "chip-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: chip\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[infinirt.backends]\nsimulator = simulator:Simulator\nbroken = simulator:Missing\n"
    )
    out = run(
        """
        import infinirt, warnings
        assert "importlib.metadata" not in __import__("sys").modules
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            device = infinirt.Device("simulator:1")
        print(device.name, [str(w.message)[:40] for w in caught])
        """,
        PYTHONPATH=f"{tmp_path}:{EXAMPLES}:" + ":".join(sys.path[1:]),
    )
    assert "simulated chip 1" in out
    assert "the backend broken = simulator:Missing" in out
