"""Programs outside the project build against the installed package and run: through CMake, pkg-config and plain flags.

Everything is found by asking `python -m infinirt`, as a user's build does. The C examples are built the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from installed import directory, output_of, program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROUND_TRIP = HERE / "consumer" / "round_trip.c"
EXAMPLES = sorted((ROOT / "examples" / "c").glob("*.c"))


def run_program(path: Path) -> str:
    """Runs on the CPU, and without LD_LIBRARY_PATH: the program has to know where its library is."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    environment["INFINIRT_DEVICE"] = "cpu"
    done = subprocess.run([path], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, f"{path.name}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def c_compiler() -> str:
    compiler = os.environ.get("CC") or program("cc", "gcc")
    assert compiler is not None, "no C compiler found; set CC"
    return compiler


def test_path_flags_lead_to_what_they_promise() -> None:
    assert (directory("--include-dir") / "infinirt.h").is_file()
    assert (directory("--lib-dir") / "libinfinirt.so.1").is_file()
    assert (directory("--cmake-dir") / "InfiniRTConfig.cmake").is_file()


def test_path_flags_can_be_combined() -> None:
    lines = output_of(sys.executable, "-m", "infinirt", "--include-dir", "--lib-dir").split()
    assert lines == [str(directory("--include-dir")), str(directory("--lib-dir"))]


def test_link_name_is_a_linker_script() -> None:
    link_name = directory("--lib-dir") / "libinfinirt.so"
    assert not link_name.is_symlink()
    assert "libinfinirt.so.1" in link_name.read_text()


@pytest.mark.peer("cmake")
def test_cmake_package(tmp_path: Path) -> None:
    cmake = program("cmake")
    assert cmake is not None
    sources = [ROUND_TRIP, *EXAMPLES]
    generator = ["-GNinja", f"-DCMAKE_MAKE_PROGRAM={program('ninja')}"] if program("ninja") else []
    output_of(
        cmake,
        f"-S{HERE / 'consumer'}",
        f"-B{tmp_path}",
        *generator,
        f"-DInfiniRT_DIR={directory('--cmake-dir')}",
        f"-DCONSUMER_SOURCES={';'.join(map(str, sources))}",
    )
    output_of(cmake, "--build", tmp_path)
    assert "round trip ok" in run_program(tmp_path / ROUND_TRIP.stem)
    for example in EXAMPLES:
        run_program(tmp_path / example.stem)


@pytest.mark.peer("cmake")
def test_cmake_package_refuses_another_major_version(tmp_path: Path) -> None:
    cmake = program("cmake")
    assert cmake is not None
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18...4.0)\nproject(P LANGUAGES C)\nfind_package(InfiniRT 99 REQUIRED CONFIG)\n"
    )
    done = subprocess.run(
        [cmake, f"-S{tmp_path}", f"-B{tmp_path / 'build'}", f"-DInfiniRT_DIR={directory('--cmake-dir')}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "99" in done.stderr


@pytest.mark.peer("pkg-config|pkgconf")
def test_pkg_config(tmp_path: Path) -> None:
    search_path = {"PKG_CONFIG_PATH": str(directory("--lib-dir") / "pkgconfig")}
    pkg_config = program("pkg-config", "pkgconf")
    assert pkg_config is not None
    flags = output_of(pkg_config, "--cflags", "--libs", "infinirt", **search_path).split()
    built = tmp_path / "round_trip"
    output_of(c_compiler(), "-std=c11", ROUND_TRIP, "-o", built, *flags)
    assert "round trip ok" in run_program(built)


@pytest.mark.peer("pkg-config|pkgconf")
def test_pkg_config_of_the_operators(tmp_path: Path) -> None:
    search_path = {"PKG_CONFIG_PATH": str(directory("--lib-dir") / "pkgconfig")}
    pkg_config = program("pkg-config", "pkgconf")
    assert pkg_config is not None
    flags = output_of(pkg_config, "--cflags", "--libs", "infiniop", **search_path).split()
    built = tmp_path / "operators"
    output_of(c_compiler(), "-std=c11", ROOT / "tests" / "ops" / "operators.c", "-o", built, *flags)
    assert "operators ok" in run_program(built)


@pytest.mark.parametrize("source", [ROUND_TRIP, *EXAMPLES], ids=lambda path: path.stem)
def test_plain_compiler_flags(source: Path, tmp_path: Path) -> None:
    library_dir = directory("--lib-dir")
    built = tmp_path / source.stem
    output_of(
        c_compiler(), "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", source,
        f"-I{directory('--include-dir')}", f"-L{library_dir}", f"-Wl,-rpath,{library_dir}", "-linfinirt", "-o", built,
    )  # fmt: skip
    run_program(built)


TRANSLATED = """
#include <cuda_runtime.h>
static void CUDART_CB called(void* data) { *static_cast<int*>(data) += CUDART_VERSION / 1000; }
int main() {
  float *device = nullptr, *pinned = nullptr, *managed = nullptr, *pooled = nullptr;
  int times = 0;
  cudaStream_t stream;
  cudaMemPool_t pool;
  size_t pitch = 0;
  char* rows = nullptr;
  bool ok = cudaStreamCreate(&stream) == cudaSuccess && cudaMalloc(&device, 64) == cudaSuccess;
  ok = ok && cudaMallocHost(&pinned, 64) == cudaSuccess && cudaMallocManaged(&managed, 64) == cudaSuccess;
  ok = ok && cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess;
  ok = ok && cudaMallocFromPoolAsync(&pooled, 64, pool, stream) == cudaSuccess;
  ok = ok && cudaFreeAsync(pooled, stream) == cudaSuccess && cudaMallocAsync(&pooled, 64, stream) == cudaSuccess;
  ok = ok && cudaMallocPitch(&rows, &pitch, 10, 3) == cudaSuccess && pitch >= 10;
  pinned[3] = 5;
  ok = ok && cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, stream) == cudaSuccess;
  ok = ok && cudaMemcpyAsync(managed, device, 64, cudaMemcpyDefault, stream) == cudaSuccess;
  ok = ok && cudaLaunchHostFunc(stream, called, &times) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess;
  return ok && managed[3] == 5 && times == 12 ? 0 : 1;
}
"""


@pytest.mark.parametrize(
    "more", [(), ("-DINFINIRT_API_PER_THREAD_DEFAULT_STREAM",)], ids=["legacy", "per-thread"]
)
def test_a_cuda_program_of_which_the_names_were_replaced(more: tuple[str, ...], tmp_path: Path) -> None:
    source, built = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(TRANSLATED.replace("cuda", "infinirt"))
    library_dir = directory("--lib-dir")
    compiler = os.environ.get("CXX") or program("c++", "g++")
    assert compiler is not None
    output_of(
        compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", *more, source,
        f"-I{directory('--include-dir')}", f"-L{library_dir}", f"-Wl,-rpath,{library_dir}", "-linfinirt", "-o", built,
    )  # fmt: skip
    run_program(built)
    plain = tmp_path / "plain.c"
    plain.write_text(
        "#include <infinirt_runtime_api.h>\nint main(void) { return infinirtDeviceSynchronize(); }\n"
    )
    output_of(
        c_compiler(), "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", plain,
        f"-I{directory('--include-dir')}", f"-L{library_dir}", f"-Wl,-rpath,{library_dir}", "-linfinirt", "-o", built,
    )  # fmt: skip
    run_program(built)


def test_moved_installation_still_works(tmp_path: Path) -> None:
    """The CMake package and the pkg-config file hold no absolute path."""
    text_files = [
        *directory("--cmake-dir").glob("*.cmake"),
        *(directory("--lib-dir") / "pkgconfig").glob("*.pc"),
    ]
    root = str(directory("--lib-dir").parent)
    assert len(text_files) >= 5
    assert [path.name for path in text_files if root in path.read_text()] == []
