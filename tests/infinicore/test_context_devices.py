"""Devices by name, one runtime for each, and each thread's own choice."""

from __future__ import annotations

import pickle
import sys
import threading
from textwrap import dedent

import pytest

import infinicore
import infinirt
from installed import output_of


def test_names_of_devices() -> None:
    device = infinicore.device
    assert device() == device("cpu") == device("cpu:0") == device("cpu", 0) == device(device("cpu"))
    assert device("nvidia:3") == device("cuda:3")
    assert str(device("cuda", 2)) == "cuda:2"
    assert repr(device("cuda:2")) == "device(type='cuda', index=2)"
    assert (device("ascend").type, device("cambricon").type, device("moore").type) == ("npu", "mlu", "musa")
    assert (device("npu").type_name, device("cpu").type_name) == ("ascend", "cpu")
    assert device(infinirt.Device("cpu")) == device("cpu")
    assert device(infinirt.Device("cpu")).resolve() is infinirt.Device("cpu")
    assert len({device("cpu"), device("cpu:0"), device("cuda")}) == 2
    assert device("cpu") != "cpu"
    assert pickle.loads(pickle.dumps(device("cuda:1"))) == device("cuda:1")


class TorchLike:
    type, index = "cuda", None


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("cuda:0", 1), ValueError, "twice"),
        (("cuda:x",), ValueError, "number"),
        (("cuda:",), ValueError, "number"),
        ((":1",), ValueError, "no type"),
        (("cuda", -1), ValueError, "negative"),
        (("cuda", 1.5), TypeError, "integer"),
        ((7,), TypeError, "name"),
        ((infinicore.device("cpu"), 1), ValueError, "index"),
    ],
)
def test_names_that_make_no_sense(arguments: tuple[object, ...], error: type[Exception], words: str) -> None:
    assert infinicore.device(TorchLike()) == infinicore.device("cuda:0")  # type: ignore[arg-type]
    with pytest.raises(error, match=words):
        infinicore.device(*arguments)  # type: ignore[arg-type]


def test_a_device_that_is_not_there_says_so_when_it_is_used() -> None:
    with pytest.raises(infinirt.InfiniRTError):
        infinicore.device("cpu:9999").resolve()
    with pytest.raises(infinirt.InfiniRTError):
        infinicore.set_device("no_such_chip")
    with pytest.raises(ValueError, match=r"no device type 'no_such_chip'; there are .*cuda"):
        infinicore.get_device_count("no_such_chip")


def test_counts() -> None:
    assert infinicore.get_device_count("cpu") == len(infinirt.devices("cpu"))
    assert infinicore.get_device_count("cuda") >= infinicore.get_device_count("nvidia")


def test_there_is_one_runtime_for_a_device_whichever_thread_asks() -> None:
    context = infinicore.Context()
    found: list[infinicore.Runtime] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(context.runtime("cpu"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(runtime) for runtime in found}) == 1
    assert context.runtimes() == found[:1]
    context.close()
    assert found[0].is_closed
    assert not context.runtime("cpu").is_closed
    context.close()


def test_threads_choose_for_themselves() -> None:
    said = output_of(
        sys.executable,
        "-c",
        dedent("""
        import threading, infinicore
        infinicore.set_device("cpu:1")
        own, seen = infinicore.get_runtime(), []
        def other():
            seen.append(infinicore.get_runtime())  # the default: INFINIRT_DEVICE
            infinicore.set_device("cpu-min")
            seen.append(infinicore.get_runtime())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert [str(runtime.device) for runtime in seen] == ["cpu:0", "cpu-min:0"]
        assert infinicore.get_runtime() is own is not seen[0]
        assert infinicore.get_device() == infinicore.device("cpu", 1)
        assert infinicore.get_stream() is own.stream
        assert infinicore.get_infiniop_handle() == own.infiniop_handle
        assert infinicore.get_runtime("cpu:1") is own
        memory = seen[1].allocate_memory(8)  # a device without operators has everything else
        seen[1].set_device_memory(memory, 6, 8)
        out = bytearray(8)
        seen[1].memcpy_d2h(out, memory, 8)
        assert out == bytes([6] * 8)
        try:
            seen[1].infiniop_handle
        except NotImplementedError as error:
            print(error)
        infinicore.start_graph_recording()
        try:
            infinicore.set_device("cpu:0")
        except RuntimeError as error:
            print(error)
        """),
        INFINIRT_DEVICE="cpu",
        INFINIRT_CPU_DEVICES="2",
        INFINIRT_CPU_MIN="1",
    )
    assert "no operators for device type 'cpu-min'" in said
    assert "a graph is being recorded on cpu:1" in said


def test_functions_act_on_the_threads_runtime() -> None:
    infinicore.set_device("cpu")
    memory = infinicore.allocate_memory(64)
    assert infinicore.allocate_host_memory(8).device() == infinicore.device("cpu")
    runtime = infinicore.get_runtime()
    infinicore.start_graph_recording("cpu")
    assert infinicore.is_graph_recording()
    infinicore.add_graph_operator(lambda: runtime.set_device_memory_async(memory, 4, 64))
    graph = infinicore.stop_graph_recording()
    graph.run()
    infinicore.sync_stream()
    assert bytes(memory.buffer) == b"\4" * 64
    infinicore.start_graph_recording()
    infinicore.cancel_graph_recording()
    assert not infinicore.is_graph_recording()
    with pytest.warns(UserWarning, match="plain memory"):
        infinicore.allocate_pinned_host_memory(1)
    infinicore.sync_device()
    infinicore.trim_memory()


def test_choosing_a_device_goes_back_to_its_own_runtime() -> None:
    infinicore.set_device("cpu")
    stream = infinicore.get_stream()
    own = infinicore.Runtime("cpu")
    own.activate()
    assert infinicore.get_stream() != stream
    infinicore.set_device("cpu")
    assert infinicore.get_stream() == stream
    own.close()
