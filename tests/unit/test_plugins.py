"""Plugins written for PaddlePaddle as devices of this runtime: how they are found, and what they become."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from installed import directory, output_of
from plugin_files import LAYOUTS, SOURCES, build, flawed, toy

# Everything a device has: streams, events, graphs and pools are no part of the plugin.
USE_DEVICE = """
def use(device):
    one, two = device.create_stream(), device.create_stream()
    data = bytes(range(256)) * 40
    first, second = device.allocate(len(data), stream=one), device.allocate(len(data), stream=two)
    first.copy_from(data, stream=one)
    event = one.record()
    two.wait(event)
    second.copy_from(first, stream=two)
    back = bytearray(len(data))
    second.copy_to(back, stream=two)
    two.sync()
    assert back == data
    with infinirt.capture(one, mode="thread_local") as capture:
        first.fill(3, stream=one)
        second.copy_from(first, stream=one)
    executable = capture.graph.instantiate()
    executable.launch(one)
    second.copy_to(back, stream=one)
    one.sync()
    assert back == b"\\3" * len(data)
"""


def run(program: str, *arguments: str | Path, **environment: str) -> str:
    return output_of(
        sys.executable, "-c", f"import sys, infinirt\n{USE_DEVICE}\n{program}", *arguments, **environment
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_plugins_of_every_release_become_devices(layout: str, tmp_path: Path) -> None:
    plugin = toy(tmp_path, layout=layout)
    said = run(
        "assert infinirt.load_plugin(sys.argv[1]) == 'toy'\n"
        "for device in infinirt.devices('toy'): use(device)\n"
        "(info,) = [i for i in infinirt.device_types() if i.name == 'toy']\n"
        "print(info.origin)\n"
        "device = infinirt.Device('toy:1')\n"
        "print(device.name, device.compute_capability, device.memory_info()[1] >> 30)\n"
        "print([(p.type, p.layout, p.problem) for p in infinirt.plugins()])",
        plugin,
    )
    assert said.splitlines() == [
        f"plugin {plugin} (layout {layout}, runtime version 42, driver version 43)",
        "toy made of memory (toy:1) (7, 5) 16",
        f"[('toy', '{layout}', '')]",
    ]


def test_several_plugins_and_names(tmp_path: Path) -> None:
    first, second = toy(tmp_path, name="first"), toy(tmp_path, layout="2.6", name="second")
    again = toy(tmp_path / "again", name="first")
    run(
        "assert infinirt.load_plugin(sys.argv[1]) == 'first'\n"
        "assert infinirt.load_plugin(sys.argv[2]) == 'second'\n"
        "assert infinirt.load_plugin(sys.argv[1]) == 'first'\n"  # once is enough
        "try: infinirt.load_plugin(sys.argv[3])\n"
        "except infinirt.InvalidValueError as error: assert \"'first', which exists already\" in str(error)\n"
        "else: raise AssertionError('two types of one name')\n"
        "assert infinirt.load_plugin(sys.argv[3], type='third') == 'third'\n"
        "for type in ('first', 'second', 'third', 'cpu'):\n"
        "    for device in infinirt.devices(type): use(device)\n",
        first,
        second,
        again,
    )


CROSS = """
from infinirt import runtime as rt
infinirt.load_plugin(sys.argv[1])
infinirt.load_plugin(sys.argv[2])
size = 3 << 20
data = bytes(range(256)) * (size // 256)
kind = rt.infinirtMemcpyKind.infinirtMemcpyDefault

def check(answer):
    assert answer[0] == 0, rt.infinirtXGetLastErrorMessage()
    return answer[1] if len(answer) > 1 else None

def settle():  # nothing else orders the work of two device types
    for type in pointers:
        check(rt.infinirtXSetDeviceType(type)); check(rt.infinirtDeviceSynchronize())

pointers = {}
for type in ("cpu", "first", "second"):
    check(rt.infinirtXSetDeviceType(type))
    pointers[type] = check(rt.infinirtMalloc(size))
for current in pointers:
    check(rt.infinirtXSetDeviceType(current))
    stream = check(rt.infinirtStreamCreate())
    for source in pointers:
        for target in pointers:
            if source == target or current not in (source, target):
                continue
            for asynchronous in (False, True):
                check(rt.infinirtMemset(pointers[target], 0, size))
                check(rt.infinirtMemcpy(pointers[source], data, size, kind))
                settle()
                check(rt.infinirtXSetDeviceType(current))
                if asynchronous:
                    check(rt.infinirtMemcpyAsync(pointers[target], pointers[source], size, kind, stream))
                    check(rt.infinirtStreamSynchronize(stream))
                else:
                    check(rt.infinirtMemcpy(pointers[target], pointers[source], size, kind))
                back = bytearray(size)
                check(rt.infinirtMemcpy(back, pointers[target], size, kind))
                assert back == data, (current, source, target, asynchronous)
                check(rt.infinirtMemset(pointers[target], 0, size))
                settle()
                check(rt.infinirtXSetDeviceType(current))
                check(rt.infinirtMemcpy2D(pointers[target], 1000, pointers[source], 500, 300, 50, kind))
                check(rt.infinirtMemcpy(back, pointers[target], size, kind))
                assert all(back[i * 1000 : i * 1000 + 300] == data[i * 500 : i * 500 + 300] for i in range(50))
check(rt.infinirtXSetDeviceType("cpu"))
stream = check(rt.infinirtStreamCreate())
error, = rt.infinirtMemcpyAsync(pointers["first"], pointers["second"], size, kind, stream)
assert error != 0 and "copy on a stream of one of them" in rt.infinirtXGetLastErrorMessage()[1], error
# Freed while a stream of another type is about to use it.
for _ in range(20):
    check(rt.infinirtXSetDeviceType("first")); memory = check(rt.infinirtMalloc(size))
    check(rt.infinirtMemcpyAsync(pointers["cpu"], memory, size, kind, stream))
    check(rt.infinirtFree(memory))
check(rt.infinirtStreamSynchronize(stream))
"""


@pytest.mark.parametrize("memory", ["", "isolated"])
def test_copies_between_device_types(memory: str, tmp_path: Path) -> None:
    first, second = toy(tmp_path, name="first"), toy(tmp_path, "TOY_LOW", layout="2.6", name="second")
    run(CROSS, first, second, INFINIRT_CPU_MEMORY=memory)


def test_copies_between_devices(tmp_path: Path) -> None:
    for defines in ((), ("TOY_MINIMAL",), ("TOY_LOW",)):
        run(
            "infinirt.load_plugin(sys.argv[1])\n"
            "here, there = infinirt.devices('toy')\n"
            "data = bytes(range(250)) * 9000\n"
            "a, b = here.allocate(len(data)), there.allocate(len(data))\n"
            "assert int(a.handle) != int(b.handle)\n"
            "a.copy_from(data); here.sync(); b.copy_from(a); there.sync(); here.sync()\n"
            "back = bytearray(len(data)); b.copy_to(back); there.sync()\n"
            "assert back == data",
            toy(tmp_path, *defines),
        )


def test_unified_and_pinned_memory_and_what_is_native(tmp_path: Path) -> None:
    functions = (
        "MallocManaged",
        "MallocHost",
        "Memset",
        "MemGetInfo",
        "StreamCreate",
        "LaunchKernel",
        "Malloc",
    )
    program = (
        "infinirt.load_plugin(sys.argv[1])\n"
        f"print(*[infinirt.support('infinirt' + f, 'toy') for f in {functions!r}])\n"
        "device = infinirt.Device('toy')\n"
        "with device: pinned = infinirt.PinnedResource().allocate(5000)\n"
        "memoryview(pinned)[:] = b'p' * 5000\n"
        "buffer = device.allocate(5000); buffer.copy_from(pinned); device.sync()\n"
        "back = bytearray(5000); buffer.copy_to(back); device.sync(); assert back == b'p' * 5000\n"
    )
    assert run(program, toy(tmp_path)) == "native native native native emulated none native\n"
    assert (
        run(program, toy(tmp_path, "TOY_MINIMAL")) == "none emulated emulated emulated emulated none native\n"
    )


def test_the_environment_names_files_and_folders(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    one = toy(tmp_path, name="one")
    two, three = toy(plugins, name="two"), toy(plugins, name="three", layout="3.0")
    bad = flawed(plugins, "ABORTS", name="a-bad-one")
    missing = tmp_path / "nowhere"
    environment = {"INFINIRT_PLUGIN_PATH": f"{one}:{plugins}:{missing}:{one}", "INFINIRT_DEVICE": "two:1"}
    said = output_of(sys.executable, "-m", "infinirt", "info", "--json", **environment)
    data = json.loads(said)
    assert data["default"] == "two:1"
    assert [(entry["type"], len(entry["devices"])) for entry in data["device_types"] if entry["devices"]] == [
        ("cpu", 1),
        ("one", 2),
        ("three", 2),
        ("two", 2),
    ]
    tried = {entry["path"]: entry for entry in data["plugins"]}
    assert list(tried) == [str(path) for path in (one, bad, three, two, missing)]
    assert tried[str(three)]["layout"] == "3.0"
    assert "signal 6" in tried[str(bad)]["problem"]
    assert "no such file" in tried[str(missing)]["problem"]
    text = output_of(sys.executable, "-m", "infinirt", "info", COLUMNS="500", **environment)
    assert f"plugin   {bad}: refused: it killed the process" in text
    assert f"backend  two (plugin {two} (layout 3.3" in text


def test_devices_can_be_hidden(tmp_path: Path) -> None:
    environment = {"INFINIRT_PLUGIN_PATH": str(toy(tmp_path)), "TOY_LOG": str(tmp_path / "log")}
    said = run(
        "use(infinirt.Device('toy:0')); print(infinirt.devices('toy'))",
        INFINIRT_VISIBLE_DEVICES="toy:1",
        **environment,
    )
    assert said == "(<Device toy:0>,)\n"
    assert "init_device 5\n" in (tmp_path / "log").read_text()
    said = run(
        "print([i.problem for i in infinirt.device_types()])", INFINIRT_VISIBLE_DEVICES="toy:7", **environment
    )
    assert "names '7', but toy devices are 0 to 1" in said


def test_listing_types_starts_a_plugin_only_when_it_is_used(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plugin = toy(tmp_path)
    environment = {"INFINIRT_PLUGIN_PATH": str(plugin), "TOY_LOG": str(log)}
    run("infinirt.Device('cpu').sync()", **environment)
    assert log.read_text().split("\n") == ["initialize", "finalize", ""]  # in the process that tried it out
    log.unlink()
    run("use(infinirt.Device('toy:1'))", **environment)
    assert log.read_text().split("\n") == [
        *("initialize", "finalize"),
        *("initialize", "init_device 5", "deinit_device 105", "finalize", ""),
    ]


def test_long_copies_use_the_plugins_streams(tmp_path: Path) -> None:
    """Two streams at once: the toy does nothing until it was asked three times, and aborts when two threads are inside."""
    log = tmp_path / "log"
    run(
        "device = infinirt.Device('toy')\n"
        "import threading\n"
        "def work(value):\n"
        "    stream = device.create_stream()\n"
        "    one, two = (device.allocate(1 << 20, stream=stream) for _ in range(2))\n"
        "    for i in range(20):\n"
        "        data = bytes([value + i]) * (1 << 20)\n"
        "        one.copy_from(data, stream=stream)\n"
        "        two.copy_from(one, stream=stream)\n"
        "        back = bytearray(1 << 20)\n"
        "        two.copy_to(back, stream=stream)\n"
        "        stream.sync()\n"
        "        assert back == data\n"
        "    done.append(value)\n"
        "done = []\n"
        "threads = [threading.Thread(target=work, args=(value,)) for value in (0, 50, 100)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert len(done) == 3",
        INFINIRT_PLUGIN_PATH=str(toy(tmp_path)),
        TOY_LOG=str(log),
    )
    lines = log.read_text().split("\n")
    assert lines.count("async copy") == 3 * 20 * 3
    made = lines.count("create_stream 104")
    assert 1 <= made <= 6
    assert lines.count("destroy_stream 104") == made
    assert lines[-3:] == ["deinit_device 104", "finalize", ""]


def test_a_program_may_use_the_plugins_streams(tmp_path: Path) -> None:
    """What is launched on a stream on loan comes between the stream's earlier and later work."""
    plugin = toy(tmp_path)
    run(
        "import ctypes\n"
        "infinirt.load_plugin(sys.argv[1])\n"
        "device = infinirt.Device('toy')\n"
        "stream = device.create_stream()\n"
        "buffer = device.allocate(1 << 20, stream=stream)\n"
        "buffer.fill(1, stream=stream)\n"
        "with stream.native() as native:\n"
        "    assert native\n"
        "    with stream.native() as other: assert other != native\n"
        "buffer.fill(2, stream=stream)\n"
        "back = bytearray(1 << 20)\n"
        "buffer.copy_to(back, stream=stream)\n"
        "stream.sync()\n"
        "assert set(back) == {2}",
        plugin,
    )
    said = run(
        "infinirt.load_plugin(sys.argv[1])\n"
        "try:\n"
        "    with infinirt.Device('toy').create_stream().native(): pass\n"
        "except infinirt.NotSupportedError as error: print(error)",
        toy(tmp_path / "small", "TOY_MINIMAL"),
    )
    assert "no streams of its own" in said


def test_a_forked_child_refuses_and_the_parent_goes_on(tmp_path: Path) -> None:
    run(
        "import os\n"
        "infinirt.load_plugin(sys.argv[1])\n"
        "device = infinirt.Device('toy')\n"
        "kept = device.allocate(100)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: device.allocate(100)\n"
        "    except infinirt.InfiniRTError as error: os._exit(0 if 'was forked' in str(error) else 1)\n"
        "    os._exit(2)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "use(device)",
        toy(tmp_path),
    )


@pytest.mark.parametrize("thread_safe", [False, True])
def test_many_threads_use_a_plugin(thread_safe: bool, tmp_path: Path) -> None:
    """The toy aborts when it is called with another device current, or by two threads at a time unless it allows that."""
    run(
        "import threading\n"
        f"infinirt.load_plugin(sys.argv[1], thread_safe={thread_safe})\n"
        "done = []\n"
        "def work(device):\n"
        "    for _ in range(10): use(device)\n"
        "    done.append(device)\n"
        "threads = [threading.Thread(target=work, args=(d,)) for d in infinirt.devices('toy') * 3]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert len(done) == len(threads) > 0",
        toy(tmp_path, *(["TOY_THREAD_SAFE"] if thread_safe else [])),
    )


def test_sizes_that_a_plugin_wishes_are_kept(tmp_path: Path) -> None:
    plugin = build("own_header.c", tmp_path, flags=("-pedantic", f"-I{directory('--include-dir')}"))
    said = run(
        "infinirt.load_plugin(sys.argv[1])\n"
        "device = infinirt.Device('own')\n"
        "plain = infinirt.DirectResource(device).allocate(5000)\n"
        "print('pool', file=sys.stderr, flush=True)\n"
        "stream = device.create_stream()\n"
        "small = [device.allocate(1 << 20, stream=stream) for _ in range(16)]\n"
        "large = device.allocate(40 << 20, stream=stream)\n"
        "try: infinirt.DirectResource(device).allocate((64 << 20) + 1)\n"
        "except infinirt.OutOfMemoryError as error: print(error)\n"
        "use(device)",
        plugin,
    )
    assert "is more than own:0 allocates at once (67108864 bytes)" in said
    before, after = said.split("pool\n")
    sizes = [
        [int(size) for size in re.findall(r"^allocate (\d+)$", part, re.MULTILINE)]
        for part in (before, after)
    ]
    assert all(size % 1000 == 7 for part in sizes for size in part)  # rounded up to the chunk, and padded
    assert 5000 <= sizes[0][0] <= 6007
    mebibytes = [size >> 20 for size in sizes[1]]
    assert mebibytes[0] in range(16, 19)  # the first segment; 2 MiB more where alignment needs them
    assert any(size in range(8, 11) for size in mebibytes)  # the next ones
    assert any(size in range(40, 43) for size in mebibytes)  # larger than a chunk: its own
    assert not any(size in range(19, 40) for size in mebibytes)


ENTRY_POINTS = """[infinirt.plugins]
broken = does_not_exist:path
toy = toy_package:plugin_path
"""


def package(folder: Path, plugin: Path) -> Path:
    """An installed distribution whose entry point leads to a plugin."""
    information = folder / "toy_package-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "toy_package.py").write_text(f"def plugin_path(): return {str(plugin)!r}\n")
    return folder


def test_packages_bring_plugins_that_load_when_they_are_needed(tmp_path: Path) -> None:
    folder = package(tmp_path / "site", toy(tmp_path))
    prelude = f"sys.path.insert(0, {str(folder)!r})\n"
    run(
        prelude
        + "assert 'importlib.metadata' not in sys.modules\n"
        + "infinirt.Device('cpu').sync()\n"
        + "assert 'importlib.metadata' not in sys.modules and 'toy_package' not in sys.modules\n"
        + "use(infinirt.Device('toy:1'))\n"
        + "broken, = [p for p in infinirt.plugins() if p.problem]\n"
        + "assert 'does_not_exist' in broken.path and 'ModuleNotFoundError' in broken.problem"
    )
    run(prelude + "assert 'toy' in [info.name for info in infinirt.device_types()]")
    run(prelude + "use(infinirt.Device()); assert infinirt.Device().type == 'toy'", INFINIRT_DEVICE="toy")


def test_a_c_program_loads_a_plugin(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        "#include <infinirt_ext.h>\n#include <stdio.h>\n#include <string.h>\n"
        "int main(int argc, char** argv) {\n"
        "  const char* type = 0; char back[8] = {0}; void* p = 0;\n"
        '  infinirtXPluginOptions options = {sizeof options, "mine", 0, 0};\n'
        '  if (argc != 2 || infinirtXLoadPlugin(argv[1], &options, &type) || strcmp(type, "mine")) return 1;\n'
        "  if (infinirtXSetDeviceType(type) || infinirtMalloc(&p, 8) || infinirtMemset(p, 9, 8)) return 2;\n"
        "  if (infinirtMemcpy(back, p, 8, infinirtMemcpyDeviceToHost) || back[7] != 9 || infinirtFree(p)) return 3;\n"
        "  options.structSize = 3;\n"
        "  if (infinirtXLoadPlugin(argv[1], &options, &type) != infinirtErrorInvalidValue) return 4;\n"
        "  puts(infinirtXGetLastErrorMessage());\n  return 0;\n}\n"
    )
    library = directory("--lib-dir")
    folders = (f"-I{directory('--include-dir')}", f"-L{library}", f"-Wl,-rpath,{library}")
    output_of("cc", "-std=c11", source, *folders, "-linfinirt", "-o", tmp_path / "main")
    assert "structSize" in output_of(tmp_path / "main", toy(tmp_path))


@pytest.mark.peer("paddlepaddle")
def test_paddlepaddles_own_header_agrees(tmp_path: Path) -> None:
    """A plugin built with it loads, and infinirt_plugin.h has every entry at the same place."""
    root = output_of(
        sys.executable, "-c", "import importlib.util as u; print(u.find_spec('paddle').origin)"
    ).strip()
    header = Path(root).parent / "include/paddle/phi/backends/device_ext.h"
    text = header.read_text(encoding="utf-8")
    body = text[text.index("struct C_DeviceInterface {") :]
    names = re.findall(r"C_Status\s*\(\*(\w+)\)|void\* (reserved_\w+)\[", body[: body.index("\n};")])
    checks = [
        f"static_assert(offsetof(C_DeviceInterface, {n}) == offsetof(infinirtPluginInterface, {n}));"
        for pair in names
        for n in pair
        if n
    ]
    assert len(checks) > 90
    source = tmp_path / "agrees.cpp"
    source.write_text(
        # Both declare InitPlugin, each with a type of its own.
        f'#define InitPlugin Theirs\n#include "{header}"\n#undef InitPlugin\n#include <infinirt_plugin.h>\n'
        + "\n".join(checks)
        + "\nstatic_assert(sizeof(C_DeviceInterface) == sizeof(infinirtPluginInterface));\n"
        "static_assert(sizeof(CustomRuntimeParams) == sizeof(infinirtPluginParams));\n"
    )
    output_of("c++", "-std=c++17", f"-I{directory('--include-dir')}", "-fsyntax-only", source)
    plugin = tmp_path / "flawless.so"
    command = [
        "c++",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-x",
        "c++",
        f'-DPADDLE_HEADER="{header}"',
        SOURCES / "bad.c",
    ]
    subprocess.run([str(word) for word in command] + ["-o", str(plugin)], check=True)
    assert (
        run("print(infinirt.load_plugin(sys.argv[1])); use(infinirt.Device('flawed:1'))", plugin)
        == "flawed\n"
    )
    # The same file in PaddlePaddle.
    said = output_of(
        sys.executable,
        "-c",
        "import paddle\n"
        "x = paddle.to_tensor([1.0, 2.0, 3.0], place=paddle.CustomPlace('flawed', 1))\n"
        "print(paddle.device.get_all_custom_device_type(), x.numpy().tolist())",
        CUSTOM_DEVICE_ROOT=str(tmp_path),
    )
    assert said.splitlines()[-1] == "['flawed'] [1.0, 2.0, 3.0]"
