"""The operators of both generations in one process: whoever comes first, in whichever scope, loaded or linked, and beside an
unversioned library with the old names. As test_v0_load_order.py has it for the runtime; the workouts know by the device that a call
goes by which library they have."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from v0_build import (
    HERE,
    build,
    build_neighbour,
    core_flags,
    library_dir,
    operator_headers,
    run,
    v0_flags,
    v0_root,
)

LIBRARIES = ["core", "core_op", "v0", "v0_op"]
ORDERS = [("core", "v0"), ("v0", "core")]
SCOPES = ["local", "global"]
full = pytest.mark.full
# One of each kind is quick; the others show the same in more orders.
LOADED = [
    pytest.param(order, scope, marks=[] if quick else full)
    for order in itertools.permutations(LIBRARIES)
    for scope in SCOPES
    for quick in [list(order) in (LIBRARIES, LIBRARIES[::-1])]
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user libraries, the neighbour, and hosts that link none or both of the user libraries."""
    folder = tmp_path_factory.mktemp("operators")
    shared = ["-shared", "-fPIC", "-linfiniop"]
    build("core_op_user.c", folder / "libcore_user.so", *shared, *core_flags(), f"-Wl,-rpath,{library_dir()}")
    build("v0_op_user.c", folder / "libv0_user.so", *shared, *v0_flags(), f"-Wl,-rpath,{v0_root() / 'lib'}")
    build_neighbour(folder / "neighbour.so", "infinirt.h", *operator_headers())
    find = [
        f"-L{folder}",
        f"-Wl,-rpath,{folder}",
        f"-Wl,-rpath-link,{library_dir()}",
        "-Wl,--no-as-needed",
        "-ldl",
    ]
    core, v0 = ["-DLINKED_CORE", "-lcore_user"], ["-DLINKED_V0", "-lv0_user"]
    for name, flags in {"": [], "core_v0": core + v0, "v0_core": v0 + core}.items():
        build("host.c", folder / f"host_{name}", *find, *flags)
    return folder


def host(shop: Path, linked: str, *arguments: str, **environment: str) -> str:
    settings = {"LD_LIBRARY_PATH": "", "INFINIRT_CPU_MIN": "1", **environment}
    return run(shop / f"host_{linked}", *arguments, **settings)


def paths(shop: Path) -> dict[str, Path]:
    return {
        "core": library_dir() / "libinfinirt.so.1",
        "core_op": library_dir() / "libinfiniop.so.1",
        "v0": v0_root() / "lib" / "libinfinirt.so",
        "v0_op": v0_root() / "lib" / "libinfiniop.so",
        "neighbour": shop / "neighbour.so",
    }


def loaded(shop: Path, scope: str, *order: str) -> str:
    libraries = [f"{what}:{scope}:{paths(shop)[what]}" for what in order]
    return run(sys.executable, HERE / "loaded_operators.py", *libraries, INFINIRT_CPU_MIN="1")


@pytest.mark.parametrize(("order", "scope"), LOADED)
def test_loaded(shop: Path, order: tuple[str, ...], scope: str) -> None:
    assert loaded(shop, scope, *order) == "core_op, v0_op\n"


@pytest.mark.parametrize("scope", ["local", pytest.param("global", marks=full)])
@pytest.mark.parametrize("place", [0, pytest.param(4, marks=full)])
def test_loaded_beside_an_unversioned_library(shop: Path, place: int, scope: str) -> None:
    order = [*LIBRARIES[:place], "neighbour", *LIBRARIES[place:]]
    assert loaded(shop, scope, *order) == "core_op, v0_op\n"


@full
@pytest.mark.parametrize("scopes", list(itertools.product(SCOPES, SCOPES)), ids="-".join)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_linked_libraries_that_are_loaded(
    shop: Path, order: tuple[str, str], scopes: tuple[str, str]
) -> None:
    arguments = [f"{scope}:{shop}/lib{what}_user.so" for what, scope in zip(order, scopes, strict=True)]
    assert host(shop, "", *arguments) == "both work\n"


@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_both_linked(shop: Path, linked: str) -> None:
    assert host(shop, linked) == "both work\n"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_both_linked_beside_an_unversioned_library(shop: Path, linked: str, scope: str) -> None:
    assert host(shop, linked, f"{scope}:{shop}/neighbour.so") == "both work\n"


@pytest.mark.parametrize(
    "preloaded", [["core_op"], ["v0_op"], ["core_op", "v0_op"], ["v0", "core_op", "v0_op"]], ids="-".join
)
@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_preloaded(shop: Path, linked: str, preloaded: list[str]) -> None:
    """First in the global scope, before everything the program asked for."""
    files = ":".join(str(paths(shop)[what]) for what in preloaded)
    assert host(shop, linked, LD_PRELOAD=files) == "both work\n"


def test_beside_the_python_package(shop: Path) -> None:
    code = (
        "import ctypes, sys; sys.path.append(sys.argv[1])\n"
        "import infinicore, loaded_operators\n"
        "x = infinicore.ones([4], device='cpu')\n"
        "library = ctypes.CDLL(sys.argv[2])\n"
        "handle = loaded_operators.add(library, lambda: None)\n"
        "assert (x + x).tolist() == [2.0] * 4\n"
        "assert library.infiniopDestroyHandle(handle) == 0\n"
        "print('both work')\n"
    )
    assert run(sys.executable, "-c", code, HERE, paths(shop)["v0_op"]) == "both work\n"


def test_two_copies_of_the_runtime_have_one_device(shop: Path) -> None:
    """Operators go by the device of the copy that was loaded first, whichever stands in the global scope."""
    code = (
        "import ctypes, sys\n"
        "first = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)\n"
        "second = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)\n"
        "operators = ctypes.CDLL(sys.argv[3])\n"
        "first.infinirtV0TypeOfThread.restype = ctypes.POINTER(ctypes.c_int)\n"
        "first.infinirtV0TypeOfThread()[0] = 9  # as if that device could be chosen: it has no operators\n"
        "handle = ctypes.c_void_p()\n"
        "assert operators.infiniopCreateHandle(ctypes.byref(handle)) == 5\n"
        "assert second.infinirtSetDevice(0, 0) == 0\n"
        "assert operators.infiniopCreateHandle(ctypes.byref(handle)) == 0\n"
        "print('one device')\n"
    )
    lib = v0_root() / "lib"
    files = [lib / "libinfinirt_v0.so.0", lib / "libinfinirt.so", lib / "libinfiniop.so"]
    assert run(sys.executable, "-c", code, *files) == "one device\n"


def test_the_workouts_notice_the_wrong_library(shop: Path) -> None:
    """What the other tests rely on: bound to another library, a workout fails."""
    with pytest.raises(AssertionError, match="core: infinirt"):
        host(shop, "core_v0", LD_PRELOAD=str(shop / "neighbour.so"))
