"""Both generations in one process: whoever comes first, in whichever scope, loaded or linked, and beside an unversioned
library with the old names."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from v0_build import HERE, build, build_neighbour, core_flags, library_dir, run, v0_flags, v0_root

ORDERS = list(itertools.permutations(["core", "v0"]))
SCOPES = ["local", "global"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user libraries, the neighbour, and hosts that link none, one or both of the user libraries."""
    folder = tmp_path_factory.mktemp("load_order")
    shared = ["-shared", "-fPIC"]
    # A user library knows where its runtime is, as an installed one would; the hosts know where the user libraries are.
    build("core_user.c", folder / "libcore_user.so", *shared, *core_flags(), f"-Wl,-rpath,{library_dir()}")
    build("v0_user.c", folder / "libv0_user.so", *shared, *v0_flags(), f"-Wl,-rpath,{v0_root() / 'lib'}")
    build_neighbour(folder / "neighbour.so")
    find = [
        f"-L{folder}",
        f"-Wl,-rpath,{folder}",
        f"-Wl,-rpath-link,{library_dir()}",
        "-Wl,--no-as-needed",
        "-ldl",
    ]
    core, v0 = ["-DLINKED_CORE", "-lcore_user"], ["-DLINKED_V0", "-lv0_user"]
    for name, flags in {"": [], "core": core, "v0": v0, "core_v0": core + v0, "v0_core": v0 + core}.items():
        build("host.c", folder / f"host_{name}", *find, *flags)
    return folder


def host(shop: Path, linked: str, *arguments: str) -> str:
    return run(shop / f"host_{linked}", *arguments, LD_LIBRARY_PATH="")


def loaded(*libraries: str) -> str:
    return run(sys.executable, HERE / "loaded.py", *libraries)


def library(what: str, scope: str, shop: Path) -> str:
    """An argument of loaded.py."""
    path = {
        "core": library_dir() / "libinfinirt.so.1",
        "v0": v0_root() / "lib" / "libinfinirt.so",
        "neighbour": shop / "neighbour.so",
    }[what]
    return f"{what}:{scope}:{path}"


@pytest.mark.parametrize("scopes", list(itertools.product(SCOPES, SCOPES)), ids="-".join)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_loaded(shop: Path, order: tuple[str, str], scopes: tuple[str, str]) -> None:
    arguments = [library(what, scope, shop) for what, scope in zip(order, scopes, strict=True)]
    assert loaded(*arguments) == "both work\n"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("order", list(itertools.permutations(["core", "v0", "neighbour"])), ids="-".join)
def test_loaded_beside_an_unversioned_library(shop: Path, order: tuple[str, ...], scope: str) -> None:
    assert loaded(*(library(what, scope, shop) for what in order)) == "both work\n"


@pytest.mark.parametrize("scopes", list(itertools.product(SCOPES, SCOPES)), ids="-".join)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_linked_libraries_that_are_loaded(
    shop: Path, order: tuple[str, str], scopes: tuple[str, str]
) -> None:
    arguments = [f"{scope}:{shop}/lib{what}_user.so" for what, scope in zip(order, scopes, strict=True)]
    assert host(shop, "", *arguments) == "both work\n"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(("linked", "loaded"), ORDERS)
def test_one_linked_the_other_loaded(shop: Path, linked: str, loaded: str, scope: str) -> None:
    assert host(shop, linked, f"{scope}:{shop}/lib{loaded}_user.so") == "both work\n"


@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_both_linked(shop: Path, linked: str) -> None:
    assert host(shop, linked) == "both work\n"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_both_linked_beside_an_unversioned_library(shop: Path, linked: str, scope: str) -> None:
    assert host(shop, linked, f"{scope}:{shop}/neighbour.so") == "both work\n"


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_loaded_after_a_local_unversioned_library(shop: Path, order: tuple[str, str]) -> None:
    """A global one would come before the libraries' own dependencies: that is how the loader works, for every library."""
    arguments = [f"global:{shop}/lib{what}_user.so" for what in order]
    assert host(shop, "", f"local:{shop}/neighbour.so", *arguments) == "both work\n"


@pytest.mark.parametrize("preloaded", [["core"], ["v0"], ["core", "v0"], ["v0", "core"]], ids="-".join)
@pytest.mark.parametrize("linked", ["core_v0", "v0_core"])
def test_preloaded(shop: Path, linked: str, preloaded: list[str]) -> None:
    """First in the global scope, before everything the program asked for."""
    paths = ":".join(library(what, "global", shop).split(":")[2] for what in preloaded)
    assert run(shop / f"host_{linked}", LD_LIBRARY_PATH="", LD_PRELOAD=paths) == "both work\n"


def test_the_workouts_notice_the_wrong_library(shop: Path) -> None:
    """What the other tests rely on: bound to another library, a workout fails."""
    with pytest.raises(AssertionError, match="core: infinirtGetDeviceCount"):
        run(shop / "host_core_v0", LD_LIBRARY_PATH="", LD_PRELOAD=str(shop / "neighbour.so"))
