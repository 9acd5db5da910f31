"""`infinirt.v0`, and what v0 and the new generation see of each other in one process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from v0_build import library_dir, run, v0_root

import infinirt.v0 as v0

OK = v0.infiniStatus_t.INFINI_STATUS_SUCCESS
CPU = v0.infiniDevice_t.INFINI_DEVICE_CPU
H2D = v0.infinirtMemcpyKind_t.INFINIRT_MEMCPY_H2D
D2H = v0.infinirtMemcpyKind_t.INFINIRT_MEMCPY_D2H
D2D = v0.infinirtMemcpyKind_t.INFINIRT_MEMCPY_D2D
Event = v0.infinirtEventStatus_t


@pytest.fixture
def stream() -> Iterator[int]:
    status, made = v0.infinirtStreamCreate()
    assert status is OK
    assert made != 0
    yield made
    assert v0.infinirtStreamDestroy(made) == (OK,)


@pytest.fixture(scope="module")
def core() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_dir() / "libinfinirt.so.1"))
    library.infinirtXGetLastErrorMessage.restype = ctypes.c_char_p
    return library


@pytest.fixture
def block(core: ctypes.CDLL) -> Iterator[Callable[[int], threading.Event]]:
    """Puts a host function into a stream that waits until the returned event is set."""
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    gate = threading.Event()
    function = prototype(lambda _: gate.wait(60) and None)

    def start(handle: int) -> threading.Event:
        assert core.infinirtLaunchHostFunc(ctypes.c_void_p(handle), function, None) == 0
        return gate

    yield start
    gate.set()
    assert core.infinirtXDrain(10000) == 0


def test_devices() -> None:
    assert v0.infinirtInit() == (OK,)
    status, counts = v0.infinirtGetAllDeviceCount()
    assert status is OK
    assert len(counts) == 11
    assert v0.infinirtGetDeviceCount(CPU) == (OK, counts[CPU])
    assert counts[CPU] >= 1
    assert v0.infinirtSetDevice(CPU, 0) == (OK,)
    assert v0.infinirtGetDevice() == (OK, CPU, 0)
    (status,) = v0.infinirtSetDevice(v0.infiniDevice_t.INFINI_DEVICE_QY, 0)
    assert status is v0.infiniStatus_t.INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED
    if counts[v0.infiniDevice_t.INFINI_DEVICE_KUNLUN] == 0:  # a vendor that is known, and has nothing here
        (status,) = v0.infinirtSetDevice(v0.infiniDevice_t.INFINI_DEVICE_KUNLUN, 0)
        assert status is v0.infiniStatus_t.INFINI_STATUS_DEVICE_NOT_FOUND
    assert v0.infinirtDeviceSynchronize() == (OK,)
    status, free, total = v0.infinirtGetMemInfo(CPU, 0)
    assert status is OK
    assert 0 < free <= total
    status, snapshot = v0.infinirtGetDeviceResourceSnapshot(CPU, 0)
    assert status is OK
    assert snapshot.valid_fields == v0.infinirtResourceField_t.INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY
    assert snapshot.total_bytes == total


def test_memory_of_other_libraries(stream: int) -> None:
    """Arrays, bytes and bytearrays are memory; NumPy's integers are addresses."""
    source = np.arange(1 << 20, dtype=np.float32)
    target = np.zeros_like(source)
    status, memory = v0.infinirtMalloc(source.nbytes)
    assert status is OK
    assert v0.infinirtMemcpyAsync(memory, source, source.nbytes, H2D, stream) == (OK,)
    assert v0.infinirtMemcpyAsync(target, np.uint64(memory), source.nbytes, D2H, stream) == (OK,)
    assert np.array_equal(source, target)
    assert v0.infinirtMemsetAsync(target, 0, target.nbytes, stream) == (OK,)
    assert not target.any()
    one = np.array([7], dtype=np.int64)
    assert v0.infinirtMemcpy(one, b"\x01" + bytes(7), 8, D2D) == (OK,)
    assert one[0] == 1
    text = bytearray(4)
    assert v0.infinirtMemcpy(text, b"wxyz", 4, H2D) == (OK,)
    assert text == b"wxyz"
    assert v0.infinirtFree(memory) == (OK,)
    with pytest.raises(ValueError, match="contiguous"):
        v0.infinirtMemset(source[::2], 0, 4)
    with pytest.raises(ValueError, match="read-only"):
        v0.infinirtMemset(memoryview(np.frombuffer(b"abcd", np.uint8)), 0, 4)


def test_stream_ordered_and_host_memory(stream: int) -> None:
    for allocate in (v0.infinirtMallocHost, lambda size: v0.infinirtMallocAsync(size, stream)):
        status, memory = allocate(4096)
        assert status is OK
        assert v0.infinirtMemset(memory, 5, 4096) == (OK,)
        assert ctypes.string_at(memory, 4096) == b"\x05" * 4096
        assert v0.infinirtFreeAsync(memory, stream) == (OK,)
        assert v0.infinirtFreeHost(memory) == (v0.infiniStatus_t.INFINI_STATUS_BAD_PARAM,)


def test_events(stream: int) -> None:
    status, start = v0.infinirtEventCreate()
    assert status is OK
    status, end = v0.infinirtEventCreateWithFlags(v0.infinirtEventFlags_t.INFINIRT_EVENT_BLOCKING_SYNC)
    assert status is OK
    assert v0.infinirtEventRecord(start, stream) == (OK,)
    assert v0.infinirtEventRecord(end, stream) == (OK,)
    assert v0.infinirtStreamWaitEvent(None, end) == (OK,)
    assert v0.infinirtEventSynchronize(end) == (OK,)
    assert v0.infinirtEventQuery(end) == (OK, Event.INFINIRT_EVENT_COMPLETE)
    status, milliseconds = v0.infinirtEventElapsedTime(start, end)
    assert status is OK
    assert 0 <= milliseconds < 60000
    assert v0.infinirtEventDestroy(start) == (OK,)
    assert v0.infinirtEventDestroy(end) == (OK,)
    assert v0.infinirtStreamSynchronize(stream) == (OK,)


def test_graph(stream: int) -> None:
    target = np.zeros(1000, np.uint8)
    status, memory = v0.infinirtMalloc(1000)
    assert status is OK
    relaxed = v0.infinirtStreamCaptureMode_t.INFINIRT_STREAM_CAPTURE_MODE_RELAXED
    assert v0.infinirtStreamBeginCapture(stream, relaxed) == (OK,)
    assert v0.infinirtMemsetAsync(memory, 8, 1000, stream) == (OK,)
    assert v0.infinirtMemcpyAsync(target, memory, 1000, D2H, stream) == (OK,)
    status, graph = v0.infinirtStreamEndCapture(stream)
    assert status is OK
    assert not target.any()
    status, executable, node, log = v0.infinirtGraphInstantiate(graph)
    assert (status, node, log) == (OK, 0, "")
    assert v0.infinirtGraphLuanch(executable, stream) == (OK,)
    assert (target == 8).all()
    assert v0.infinirtGraphExecDestroy(executable) == (OK,)
    assert v0.infinirtGraphDestroy(graph) == (OK,)
    status, executable, _, log = v0.infinirtGraphInstantiate(graph)
    assert (status, executable) == (v0.infiniStatus_t.INFINI_STATUS_BAD_PARAM, 0)
    assert "destroyed" in log or "handle" in log
    assert v0.infinirtFree(memory) == (OK,)


def test_calls_on_the_cpu_wait_for_work_of_the_new_generation(
    core: ctypes.CDLL, stream: int, block: Callable[[int], threading.Event]
) -> None:
    """Complete on return, also when the stream is kept busy by someone else; a query only looks."""
    status, event = v0.infinirtEventCreate()
    assert status is OK
    gate = block(stream)
    assert core.infinirtEventRecord(ctypes.c_void_p(event), ctypes.c_void_p(stream)) == 0
    assert v0.infinirtEventQuery(event) == (OK, Event.INFINIRT_EVENT_NOT_READY)
    timer = threading.Timer(0.2, gate.set)
    timer.start()
    assert v0.infinirtEventRecord(event, stream) == (OK,)
    assert gate.is_set()
    assert v0.infinirtEventQuery(event) == (OK, Event.INFINIRT_EVENT_COMPLETE)
    timer.join()
    assert v0.infinirtEventDestroy(event) == (OK,)


def test_the_reason_of_a_failure_can_be_asked_for(core: ctypes.CDLL) -> None:
    assert v0.infinirtFree(0x1234) == (v0.infiniStatus_t.INFINI_STATUS_BAD_PARAM,)
    assert b"0x1234" in core.infinirtXGetLastErrorMessage()
    core.infinirtGetLastError()


def in_new_process(code: str, **environment: str) -> None:
    run(
        sys.executable, "-c", textwrap.dedent(code), str(v0_root() / "lib"), str(library_dir()), **environment
    )


def test_each_generation_has_its_own_device_type() -> None:
    """The thread's new type is another one than v0's, and neither changes the other."""
    in_new_process(
        """
        import ctypes, sys
        v0 = ctypes.CDLL(sys.argv[1] + "/libinfinirt.so")
        core = ctypes.CDLL(sys.argv[2] + "/libinfinirt.so.1")
        def type_of_core():
            name = ctypes.c_char_p()
            assert core.infinirtXGetDeviceType(ctypes.byref(name)) == 0
            return name.value
        def type_of_v0():
            device, number = ctypes.c_int(-1), ctypes.c_int(-1)
            assert v0.infinirtGetDevice(ctypes.byref(device), ctypes.byref(number)) == 0
            return device.value
        assert type_of_core() == b"cpu-min"
        memory = ctypes.c_void_p()
        for call in (lambda: v0.infinirtMalloc(ctypes.byref(memory), ctypes.c_size_t(64)),
                     lambda: v0.infinirtFree(memory), lambda: v0.infinirtSetDevice(0, 0)):
            assert call() == 0
            assert type_of_core() == b"cpu-min"
            assert type_of_v0() == 0
        assert v0.infinirtSetDevice(9, 0) == 5 and type_of_core() == b"cpu-min"
        assert core.infinirtXSetDeviceType(b"cpu") == 0 and type_of_v0() == 0
        """,
        INFINIRT_DEVICE="cpu-min",
        INFINIRT_CPU_MIN="1",
    )


@pytest.mark.parametrize(
    "names", [("libinfinirt.so", "libinfinirt_v0.so.0"), ("libinfinirt_v0.so.0", "libinfinirt.so")]
)
def test_both_files_of_the_library_share_the_thread_s_selection(names: tuple[str, str]) -> None:
    """A type that is not there stands in for another device: whichever file is asked, the thread is on it."""
    in_new_process(
        f"""
        import ctypes, sys
        first, second = (ctypes.CDLL(sys.argv[1] + "/" + name) for name in {names!r})
        first.infinirtV0TypeOfThread.restype = ctypes.POINTER(ctypes.c_int)
        assert first.infinirtDeviceSynchronize() == second.infinirtDeviceSynchronize() == 0
        first.infinirtV0TypeOfThread()[0] = 9
        assert first.infinirtDeviceSynchronize() == second.infinirtDeviceSynchronize() == 5
        assert second.infinirtSetDevice(0, 0) == 0
        assert first.infinirtDeviceSynchronize() == 0
        """
    )


def test_the_selection_belongs_to_the_thread() -> None:
    in_new_process(
        """
        import threading
        import infinirt.v0 as v0
        seen = []
        assert v0.infinirtSetDevice(0, 1)[0] == 0
        thread = threading.Thread(target=lambda: seen.append(v0.infinirtGetDevice()[1:]))
        thread.start(); thread.join()
        assert seen == [(0, 0)] and v0.infinirtGetDevice()[1:] == (0, 1)
        """,
        INFINIRT_CPU_DEVICES="2",
    )


def test_missing_library_is_explained(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The module in a place where nothing was built."""
    package = tmp_path_factory.mktemp("unbuilt") / "infinirt"
    package.mkdir()
    shutil.copy(v0.__file__, package / "v0.py")
    (package / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import infinirt.v0"], cwd=package.parent, env={"PYTHONPATH": str(package.parent)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "ImportError: this installation has no" in done.stderr
