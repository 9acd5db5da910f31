"""The conformance kit on the CPU device: green, and its reports are what they promise."""

from __future__ import annotations

import html.parser
import os
import re
from pathlib import Path
from typing import Any

import pytest
from kit_support import EXAMPLES, HERE, Report, command, kit

from infinirt.conformance import LEVELS, all_cases
from infinirt.conformance.case import select
from infinirt.conformance.command import main
from infinirt.conformance.document import RESULTS, SCHEMA
from plugin_files import toy

CALLS = HERE / "faulty_calls.py"


def test_there_are_enough_cases_and_each_is_complete() -> None:
    cases = all_cases()
    assert len(cases) >= 300
    for case in cases.values():
        assert case.level in LEVELS
        assert case.sentence.endswith("."), case.id
        assert case.rule, case.id
        assert case.functions, case.id
    # Different rules: no two cases say the same.
    assert len({case.sentence for case in cases.values()}) == len(cases)
    groups = {case.group for case in cases.values()}
    wanted = "device stream memory copy event error host-function pool graph capture peer managed ipc"
    assert set(wanted.split()) | {"bad-input", "fault", "stress", "performance"} <= groups


def test_cases_are_about_functions_that_exist() -> None:
    import infinirt

    for case in all_cases().values():
        for function in case.functions:
            infinirt.support(function, "cpu")  # raises for what is no function of the API


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, str]:
    folder = tmp_path_factory.mktemp("kit")
    report = kit(folder, "--backend", "cpu", "--html", folder / "report.html", INFINIRT_CPU_DEVICES="2")
    return report, (folder / "report.html").read_text()


def test_the_cpu_device_keeps_every_rule(on_cpu: tuple[Report, str]) -> None:
    report = on_cpu[0]
    assert report.status == 0, report.explain()
    # In no order: here it is the one in which other tests imported them.
    assert sorted(report.of("pass")) == sorted(case.id for case in select("full")), report.explain()
    assert "conformant at level full" in report.text


def test_the_document_has_the_shape_it_promises(on_cpu: tuple[Report, str]) -> None:
    data = on_cpu[0].data
    assert data["schema"] == SCHEMA == "infinirt-conformance/1"
    assert set(data) == {
        *(
            "schema",
            "kit",
            "when",
            "level",
            "selection",
            "conformant",
            "backend",
            "device",
            "loaded",
            "command",
            "machine",
        ),
        *("environment", "summary", "problems", "seconds", "processes", "cases", "capabilities"),
        "functions_called",
    }
    assert data["conformant"] is True
    assert data["problems"] == []
    assert data["backend"]["type"] == "cpu"
    assert data["backend"]["origin"] == "built in"
    assert len(data["backend"]["devices"]) == 2
    assert data["environment"]["INFINIRT_CPU_DEVICES"] == "2"
    assert set(data["capabilities"].values()) == {"native"}
    for entry in data["cases"]:
        assert {"id", "group", "level", "sentence", "rule", "functions", "result", "seconds"} <= set(entry)
        assert entry["result"] in RESULTS
    assert data["summary"]["all"]["cases"] == len(data["cases"])
    for part in ("levels", "groups"):
        assert sum(found["cases"] for found in data["summary"][part].values()) == len(data["cases"])
    # The cases call most of the API; what none calls is not tested.
    assert len(data["functions_called"]) > 170, sorted(
        set(data["capabilities"]) - set(data["functions_called"])
    )


def test_performance_is_reported(on_cpu: tuple[Report, str]) -> None:
    measured = [m for entry in on_cpu[0].data["cases"] for m in entry.get("measurements", ())]
    assert {m["kind"] for m in measured} == {"latency", "bandwidth"}
    assert all(m["value"] > 0 for m in measured)
    assert {"within the device", "the host's memcpy", "host to device, pinned"} <= {
        m.get("series") for m in measured
    }


class Reader(html.parser.HTMLParser):
    """What a page refers to, and whether what it opens it closes."""

    EMPTY = ("meta", "br", "line", "circle", "rect", "polyline")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[tuple[str, str | None]] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.outside += [(tag, value) for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_the_page_needs_nothing_else(on_cpu: tuple[Report, str]) -> None:
    report, page = on_cpu
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.outside == []
    assert {"style", "svg", "table", "details"} <= reader.seen
    assert not {"script", "link", "img", "iframe", "object"} & reader.seen
    assert re.findall(r"https?:|//[a-z]|url\(|@import", page) == []
    assert "prefers-color-scheme: dark" in page
    for id in (entry["id"] for entry in report.data["cases"]):
        assert f"<code>{id}</code>" in page


def test_levels_contain_those_below() -> None:
    ids = {level: {case.id for case in select(level)} for level in LEVELS}
    assert ids["minimal"] < ids["advanced"] < ids["full"] == set(all_cases())
    assert {"device.count", "stream.create", "memory.allocate", "copy.async.h2d"} <= ids["minimal"]
    assert "event.elapsed.positive" in ids["advanced"] - ids["minimal"]


def test_cases_are_listed() -> None:
    done = command("--list", "--level", "advanced")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [case.id for case in select("advanced")]


def test_a_plugin_keeps_the_minimal_rules(tmp_path: Path) -> None:
    report = kit(tmp_path, "--backend", "toy", "--level", "minimal", "--plugin", toy(tmp_path))
    assert report.status == 0, report.explain()
    assert report.data["backend"]["origin"].startswith("plugin ")
    assert report.of("fail") == report.of("unsupported") == []


def test_a_backend_in_python_keeps_the_minimal_rules(tmp_path: Path) -> None:
    report = kit(
        tmp_path, "--backend", "simulator", "--level", "minimal", "--import", EXAMPLES / "simulator.py"
    )
    assert report.status == 0, report.explain()
    assert "in Python" in report.data["backend"]["origin"]
    assert report.of("fail") == report.of("unsupported") == report.of("inapplicable") == []
    assert report.of("emulated")


def test_a_backend_of_an_installed_package_needs_no_option(tmp_path: Path) -> None:
    (tmp_path / "shelf_package.py").write_text(
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('simulator', {str(EXAMPLES / 'simulator.py')!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "class Shelf(module.Simulator):\n    type = 'shelf'\n"
    )
    facts = tmp_path / "shelf_package-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf-package\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[infinirt.backends]\nshelf = shelf_package:Shelf\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    report = kit(tmp_path, "--backend", "shelf", "--level", "minimal", "--group", "device", PYTHONPATH=path)
    assert report.status == 0, report.explain()
    assert report.data["backend"]["origin"].startswith("shelf_package.Shelf")


def test_declared_limits_are_told_with_their_reason(tmp_path: Path) -> None:
    report = kit(
        tmp_path, "--backend", "cpu-min", "--group", "managed", "--group", "ipc", INFINIRT_CPU_MIN="1"
    )
    assert report.status == 0, report.explain()
    assert set(report.of("unsupported")) > {"managed.host-reaches", "ipc.memory", "ipc.pool"}
    assert "no managed memory" in report.case("managed.host-reaches")["reason"]
    # Each says beforehand which function that may be: otherwise an unexpected pass could not be noticed.
    for id in report.of("unsupported"):
        entry = report.case(id)
        assert any(report.data["capabilities"][function] == "none" for function in entry["functions"]), id


def test_a_crash_costs_one_case(tmp_path: Path) -> None:
    selected = ("--case", "device.cache-config", "--case", "device.count", "--case", "device.versions")
    report = kit(tmp_path, "--backend", "cpu", *selected, "--import", CALLS, KIT_FAULT="crash")
    assert report.status == 1
    assert report.of("fail") == ["device.cache-config"]
    assert "SIGSEGV" in report.case("device.cache-config")["seen"]
    assert "faulty_calls.py" in report.case("device.cache-config")["stack"]  # where it crashed
    assert report.of("pass") == ["device.count", "device.versions"]


def test_a_hang_is_cut_with_the_stacks(tmp_path: Path) -> None:
    selected = ("--case", "device.priorities.range", "--case", "device.flags", "--case", "device.count")
    report = kit(tmp_path, "--backend", "cpu", *selected, "--limit", "3", "--import", CALLS, KIT_FAULT="hang")
    assert report.status == 1
    assert report.of("fail") == ["device.priorities.range"]
    entry = report.case("device.priorities.range")
    assert "within 3 s" in entry["expected"]
    assert "faulty_calls.py" in entry["stack"]  # where it hangs
    assert "Threads of the process" in entry["stack"]
    assert report.of("pass") == ["device.count", "device.flags"]
    assert "FAIL" in report.text
    assert "--case device.priorities.range" in report.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"level": "extreme"}, "no level 'extreme'"),
        ({"groups": ("magic",)}, "no group 'magic'"),
        ({"patterns": ("magic.*",)}, "no case fits 'magic.*'"),
        ({"level": "minimal", "groups": ("graph",)}, "no such case at this level"),
        ({"imports": ("nowhere.py",)}, "no such file"),
        ({"limit": 0}, "--limit"),
        ({"jobs": 0}, "--jobs"),
        ({"backend": ""}, "--backend"),
    ],
)
def test_what_makes_no_sense_is_told(
    arguments: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(**{"backend": "cpu", "level": "full", **arguments}) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--backend", "abacus"), "no device type 'abacus'"),
        (("--backend", "cpu", "--device", "7"), "no device 7"),
        (("--backend", "cpu", "--import", "not_a_module_anywhere"), "not_a_module_anywhere"),
        (("--backend", "cpu", "--plugin", "nowhere.so"), "nowhere.so"),
    ],
)
def test_what_cannot_be_tested_is_told(arguments: tuple[str, ...], said: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_that_are_in_the_way_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INFINIRT_CPU_SCHEDULE", "inline")
    assert main("cpu", "full") == 2
    assert "INFINIRT_CPU_SCHEDULE=inline" in capsys.readouterr().err
