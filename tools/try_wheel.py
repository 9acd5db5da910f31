"""Tries a wheel as its users will: in an environment of its own, without a compiler, outside of the checkout.

    python tools/try_wheel.py infinirt-….whl

The packages that it depends on are those of the interpreter that runs this script; no index is asked. Prints what was tried; the exit
status says whether all of it worked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "clang++", "nvcc", "ld", "make", "cmake", "ninja")

SMOKE = r"""
import os, shutil, sys
found = [name for name in sys.argv[2:] if shutil.which(name)]
assert not found, f"this environment has {found}"

import infinirt
assert infinirt.__file__.startswith(sys.argv[1]), f"{infinirt.__file__} is not the wheel's"
device = infinirt.Device("cpu")
stream = device.create_stream()
buffer = device.allocate(16, stream=stream)
with infinirt.capture(stream) as recording:
    buffer.fill(42, stream=stream)
recording.graph.instantiate().launch(stream)
stream.sync()
assert bytes(buffer) == b"*" * 16
print("runtime: ok")

import numpy, infinicore
x = infinicore.from_numpy(numpy.arange(6, dtype="float32").reshape(2, 3))
assert (x @ infinicore.from_numpy(numpy.ones((3, 1), dtype="float32"))).tolist() == [[3.0], [12.0]]
assert infinicore.nn.functional.relu(x - 2.0).tolist() == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
print("operators: ok")

import infiniccl
comms = infiniccl.init_all([0, 0])
buffers = [device.allocate(8) for _ in comms]
with infiniccl.group():
    for comm, each in zip(comms, buffers):
        each.fill(comm.rank + 1)
        comm.all_reduce(each, dtype="uint8")
device.sync()
assert bytes(buffers[0]) == b"\x03" * 8
print("collectives: ok")

from infinirt.v0 import infinirtGetDeviceCount, infiniDevice_t
assert infinirtGetDeviceCount(infiniDevice_t.INFINI_DEVICE_CPU) == (0, 1)
print("earlier generation: ok")
"""


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's paths: no compiler, no checkout, no library that happens to lie around."""
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "LC_ALL", "TMPDIR")}
    return {**kept, "PATH": str(folder / "bin"), "INFINIRT_DEVICE": "cpu", "INFINIRT_CPU_DEVICES": "1"}


def run(words: list[str], folder: Path, **extra: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env={**environment(folder), **extra}, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words[:4])}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(wheel: str) -> None:
    path = Path(wheel).resolve()
    if not path.is_file():
        sys.exit(f"there is no wheel {wheel}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        venv.create(folder, with_pip=True)
        python = str(folder / "bin" / "python")
        run(
            [
                python,
                "-m",
                "pip",
                "--disable-pip-version-check",
                "install",
                "--quiet",
                "--no-deps",
                "--no-index",
                str(path),
            ],
            folder,
        )
        # What it depends on comes after its own folder on the path, so that the wheel is what is imported.
        packages = Path(
            run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
        )
        others = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
        (packages / "dependencies.pth").write_text(
            "".join(f"{other}\n" for other in others), encoding="utf-8"
        )
        print(run([python, "-c", SMOKE, str(packages), *COMPILERS], folder), end="")
        command = str(folder / "bin" / "infinirt")
        assert "cpu" in run([command, "info"], folder)
        assert "WRONG" not in run([command, "demo", "--device", "cpu"], folder)
        print("infinirt info, infinirt demo: ok")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
