"""`infinirt new-backend`: the project builds and runs the kit at once, says what is left to do, and passes when that is done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from filled_in import fill_c, fill_python

BIN = str(Path(sys.executable).parent)


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": BIN + os.pathsep + os.environ.get("PATH", ""), **environment},
    )


def new_backend(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run("-m", "infinirt", "new-backend", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("my-chip",), "begins with a small letter"),
        (("json",), "Python has a word or module"),
        (("cpu",), "such a device type already"),
        (("mychip", "--lang", "rust"), "it is c or python"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    done = new_backend(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mychip").mkdir()
    (tmp_path / "mychip" / "precious").write_text("")
    done = new_backend("mychip", folder=tmp_path)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert new_backend("mychip", "--output", "elsewhere", folder=tmp_path).returncode == 0
    assert (tmp_path / "elsewhere" / "mychip.c").exists()


def check(project: Path, *wishes: str) -> subprocess.CompletedProcess[str]:
    files = ("--json", "report.json", "--html", "report.html")
    return run("check.py", "--level", "minimal", *files, *wishes, folder=project)


def results(project: Path) -> set[str]:
    return {case["result"] for case in json.loads((project / "report.json").read_text())["cases"]}


@pytest.mark.parametrize("language", ["c", pytest.param("python", marks=pytest.mark.full)])
def test_from_blanks_to_a_green_report(tmp_path: Path, language: str) -> None:
    assert new_backend("mychip", "--lang", language, folder=tmp_path).returncode == 0
    project = tmp_path / "mychip"
    brief = run("check.py", folder=project)
    assert brief.returncode == 1
    assert len(brief.stdout.splitlines()) < 15, brief.stdout
    assert re.search(r"\d+ cases in .* fail\n\nTo do, 5 blanks", brief.stdout)
    first = check(project, "--case", "memory.set*")  # a few: all would fail
    assert first.returncode == 1, first.stdout + first.stderr
    assert "To do, 5 blanks" in first.stdout
    assert "mychip." in first.stdout
    assert "fail" in results(project)
    option = "--plugin" if language == "c" else "--import"
    assert f"again: infinirt conformance --backend mychip {option} " in first.stdout
    if language == "c":
        fill_c(project / "mychip.c")
    else:
        fill_python(project / "mychip.py")
    second = check(project)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "No blanks are left." in second.stdout
    assert results(project) <= {"pass", "emulated", "unsupported", "inapplicable"}
    page = (project / "report.html").read_text()
    assert "conformant at level minimal" in page
    assert str(tmp_path) not in page


PADDLE = """
import numpy as np, paddle
assert paddle.device.get_all_custom_device_type() == ["mychip"], paddle.device.get_all_custom_device_type()
paddle.device.set_device("mychip:0")
x = paddle.to_tensor(np.arange(12, dtype="float32").reshape(3, 4))
assert "mychip" in str(x.place), x.place
y = paddle.matmul(x, x, transpose_y=True) + 1
np.testing.assert_allclose(y.numpy(), x.numpy() @ x.numpy().T + 1)
paddle.device.synchronize()
print("calculated on", y.place)
"""


@pytest.mark.peer("paddlepaddle")
def test_paddlepaddle_loads_the_same_plugin(tmp_path: Path) -> None:
    assert new_backend("mychip", folder=tmp_path).returncode == 0
    project = tmp_path / "mychip"
    fill_c(project / "mychip.c")
    built = run("check.py", "--list", folder=project)  # builds; the kit runs nothing
    assert built.returncode == 0, built.stdout + built.stderr
    (project / "plugins").mkdir()
    (project / "build" / "libmychip.so").rename(project / "plugins" / "libmychip.so")
    done = run("-c", PADDLE, folder=project, CUSTOM_DEVICE_ROOT=str(project / "plugins"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "calculated on Place(mychip:0)" in done.stdout
