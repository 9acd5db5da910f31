"""`infinirt bench`, small: it measures, writes, compares and refuses. What the figures are is not judged here."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infinirt.tools.bench import document
from infinirt.tools.bench.command import CASES, GROUPS
from infinirt.tools.bench.compare import compare
from infinirt.tools.bench.measure import Contender, Pace, Timing, take_turns
from infinirt.tools.cli import app


def bench(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "infinirt", "bench", *words], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def told(*words: str, status: int = 0) -> Any:
    """The same in this process, for what measures nothing."""
    done = CliRunner().invoke(app, ["bench", *words])
    assert done.exit_code == status, done.output
    return done


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One quick run of everything, without peers but NumPy; the folder with what it wrote."""
    folder = tmp_path_factory.mktemp("bench")
    done = bench(
        "--device", "cpu:0", "--quick", "--rounds", "3", "--no-peers",
        "--json", str(folder / "run.json"), "--html", str(folder / "run.html"),
    )  # fmt: skip
    (folder / "output.txt").write_text(done.stdout)
    return folder


@pytest.fixture
def data(written: Path) -> dict[str, Any]:
    return document.read(str(written / "run.json"))


def test_every_group_is_measured(data: dict[str, Any]) -> None:
    assert {result["group"] for result in data["results"]} == set(GROUPS)
    measured = {result["id"] for result in data["results"]}
    # Filling 64 MiB is too much for a quick run.
    assert {case.id for case in CASES} - measured == {"memory.fill-streams"}


def test_ids_begin_with_their_group() -> None:
    from infinirt.tools.bench.command import CASES

    assert [case.id for case in CASES if not case.id.startswith(f"{case.group}.")] == []


def test_results_hold_together(data: dict[str, Any]) -> None:
    for result in data["results"]:
        assert 0 < result["low"] <= result["value"] <= result["high"], result["id"]
        assert len(result["samples"]) == 3
        assert result["unit"] == ("GB/s" if result["more_is_better"] else "µs")
    of_copies = {(r["contender"], r["at"]) for r in data["results"] if r["id"] == "memory.copy"}
    assert ("NumPy", 4096) in of_copies
    assert ("infinirt", 4096) in of_copies


def test_peers_are_told_about(data: dict[str, Any]) -> None:
    assert data["peers"]["PyTorch"] == "left out as asked"
    assert data["peers"]["CuPy"]


def test_the_table_has_every_title(written: Path, data: dict[str, Any]) -> None:
    output = (written / "output.txt").read_text()
    for result in data["results"]:
        assert result["title"] in output
    assert "\x1b" not in output


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br", "line", "rect", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "br", "line", "rect", "circle", "polyline"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(written: Path, data: dict[str, Any]) -> None:
    page = Page()
    text = (written / "run.html").read_text()
    page.feed(text)
    assert page.open == []
    assert page.links == []
    # A plot over sizes where there are several, and the distribution of every case.
    cases = document.by_case(data["results"])
    assert page.seen.count("svg") == len(cases) + sum(len(places) > 1 for places in cases.values())
    assert not re.search(r"https?://", text)


def test_a_page_of_hostile_names_is_only_text(written: Path, data: dict[str, Any], tmp_path: Path) -> None:
    data["device"]["name"] = "<script>alert(1)</script>"
    data["results"][0]["title"] = "</h3><img src=x>"
    document.write(str(tmp_path / "run.json"), data)
    told("--load", str(tmp_path / "run.json"), "--html", str(tmp_path / "run.html"))
    page = Page()
    page.feed((tmp_path / "run.html").read_text())
    assert "script" not in page.seen
    assert "img" not in page.seen


def test_a_busy_machine_is_told(data: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for load, warned in ((100.0, True), (0.0, False)):
        data["machine"]["load"] = load
        document.write(str(path), data)
        said = told("--load", str(path), "--html", str(tmp_path / "run.html")).stdout
        assert ("The machine was busy" in said) is warned
        assert ("The machine was busy" in (tmp_path / "run.html").read_text()) is warned


# ---- comparing


def without_spread(data: dict[str, Any]) -> dict[str, Any]:
    """As if all rounds had taken the same time, however disturbed the machine was."""
    changed = copy.deepcopy(data)
    for result in changed["results"]:
        result["low"] = result["high"] = result["value"]
    return changed


def slowed(data: dict[str, Any], id: str, times: float) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    for result in changed["results"]:
        if result["id"] == id:
            factor = 1 / times if result["more_is_better"] else times
            for field in ("value", "low", "high"):
                result[field] *= factor
    return changed


@pytest.mark.parametrize("id", ["runtime.event-record", "memory.copy"])
def test_what_became_slower_is_found(data: dict[str, Any], id: str) -> None:
    """Of times, which grow, and of bandwidths, which shrink."""
    data = without_spread(data)
    found = compare(data, slowed(data, id, 100), 0.15)
    assert found.slower
    assert {change.title.split(",")[0] for change in found.slower} == {
        result["title"] for result in data["results"] if result["id"] == id
    }
    assert all(change.times == pytest.approx(100) for change in found.slower)
    faster = compare(slowed(data, id, 100), data, 0.15)
    assert not faster.slower
    assert sum(change.verdict == "faster" for change in faster.changes) == len(found.slower)


def test_within_the_spread_nothing_is_slower(data: dict[str, Any]) -> None:
    wide = copy.deepcopy(data)
    for result in wide["results"]:
        result["low"], result["high"] = result["value"] / 1000, result["value"] * 1000
    assert not compare(wide, slowed(wide, "memory.copy", 100), 0.15).slower


def test_peers_are_not_judged(data: dict[str, Any]) -> None:
    changed = copy.deepcopy(data)
    for result in changed["results"]:
        if result["contender"] == "NumPy":
            result["value"] = result["low"] = result["high"] = 1e-9
    assert not compare(data, changed, 0.15).slower


def test_exit_status_and_table(data: dict[str, Any], tmp_path: Path) -> None:
    slow, run = str(tmp_path / "slow.json"), str(tmp_path / "run.json")
    data = without_spread(data)
    document.write(run, data)
    document.write(slow, slowed(data, "runtime.event-record", 100))
    done = told("--load", slow, "--compare", run, "--html", str(tmp_path / "page.html"), status=1)
    assert re.search(r"record an event +infinirt .*100\.00 +slower", done.stdout)
    assert "slower</td>" in (tmp_path / "page.html").read_text()
    done = told("--load", run, "--compare", run)
    assert "0 slower, 0 faster" in done.stdout


def test_another_machine_is_said(data: dict[str, Any]) -> None:
    other = copy.deepcopy(data)
    other["device"]["name"] = "another"
    other["results"] = other["results"][1:]
    found = compare(data, other, 0.15)
    assert "device: " in found.other_machine[0]
    # The other of our contenders is still there.
    assert found.gone == [f"{data['results'][0]['title']}: infinirt"]


@pytest.mark.parametrize(
    ("part", "field", "value", "said"),
    [
        ("pace", "rounds", 7, "rounds: 3, now 7"),
        ("pace", "round_seconds", 0.5, "seconds of a round: 0.002, now 0.5"),
        ("peers", "PyTorch", "2.9", "PyTorch: left out as asked, now 2.9"),
    ],
)
def test_other_settings_are_said_first(
    data: dict[str, Any], tmp_path: Path, part: str, field: str, value: Any, said: str
) -> None:
    old, new, page = (str(tmp_path / name) for name in ("old.json", "new.json", "page.html"))
    document.write(old, data)
    data[part][field] = value
    document.write(new, data)
    output = told("--load", new, "--compare", old, "--html", page).stdout
    assert output.index("The two runs are not alike:") < output.index(said) < output.index("compared:")
    text = Path(page).read_text()
    assert text.index(said) < text.index('<p class="verdict')


def test_peers_that_neither_run_measured_make_no_difference(data: dict[str, Any]) -> None:
    other = copy.deepcopy(data)
    other["peers"]["PyTorch"] = "not installed"
    other["peers"]["NumPy"] = "99.0"
    assert compare(data, other, 0.15).other_machine == []


def only(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """The part of a run that `--group` with these names measures."""
    results = [result for result in data["results"] if {result["group"], result["id"]} & {*names}]
    return {**data, "results": results}


def test_what_only_one_run_has_is_named_once(data: dict[str, Any], tmp_path: Path) -> None:
    """A whole group and a whole case by their name, a size by its own, and of what is still there the contender."""
    changed = only(data, "runtime", "memory.copy")
    changed["results"] = [
        result
        for result in changed["results"]
        if (result["id"], result["contender"]) != ("runtime.stream-sync", "infinirt (flat)")
        and (result["id"], result["at"]) != ("memory.copy", 4096)
        and result["id"] != "runtime.stream-query"
    ]
    missing = [
        "ask an idle stream whether it is done",
        "synchronise an idle stream: infinirt (flat)",
        "copy within the device, 4 KiB",
        "copy from page-locked memory",
        "fill",
        *(f"the group {name}" for name in ("allocator", "graphs", "operators", "collectives")),
    ]
    assert compare(data, changed, 0.15).gone == missing
    assert compare(changed, data, 0.15).added == missing
    old, new = str(tmp_path / "old.json"), str(tmp_path / "new.json")
    document.write(old, data)
    document.write(new, changed)
    said = " ".join(told("--load", new, "--compare", old, "--threshold", "9.9").stdout.split())
    assert f"not measured this time: {'; '.join(missing)}" in said
    said = " ".join(told("--load", old, "--compare", new, "--threshold", "9.9").stdout.split())
    assert f"new: {'; '.join(missing)}" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            ["runtime", "graphs"],
            ["memory"],
            "The earlier one has: the group runtime; the group graphs. This one has: the group memory.",
        ),
        (
            ["memory.copy"],
            ["memory.fill"],
            "The earlier one has: copy within the device. This one has: fill.",
        ),
        (["runtime"], [], "The earlier one has: the group runtime. This one has: nothing."),
    ],
)
def test_nothing_to_compare_is_no_success(
    data: dict[str, Any], tmp_path: Path, old: list[str], new: list[str], said: str
) -> None:
    before, after, page = (str(tmp_path / name) for name in ("old.json", "new.json", "page.html"))
    document.write(before, only(data, *old))
    document.write(after, only(data, *new))
    done = told("--load", after, "--compare", before, "--html", page, status=2)
    assert f"nothing could be compared, as no case is in both runs. {said}" in done.stderr
    assert "compared:" not in done.stdout
    text = Path(page).read_text()
    assert said in text
    assert "nothing slower" not in text


def test_nothing_to_compare_is_told_before_anything_is_measured(data: dict[str, Any], tmp_path: Path) -> None:
    before, after = tmp_path / "old.json", tmp_path / "new.json"
    document.write(str(before), only(data, "runtime"))
    words = ["--device", "cpu:0", "--quick", "--group", "memory.copy", "--compare", str(before)]
    done = told(*words, "--json", str(after), status=2)
    assert "The earlier one has: the group runtime. This one has: the group memory." in done.stderr
    assert not after.exists()


# ---- bad input


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "speed"], "there is no group or case speed; there are the groups runtime, memory"),
        (["--group", "runtime.nonsense"], "and the cases runtime.event-record, runtime.event-order"),
        (["--device", "cpu:99"], "cpu:99"),
        (["--device", "nonsense"], "nonsense"),
        (["--compare", "/nowhere/old.json"], "/nowhere/old.json cannot be read"),
        (["--json", "/nowhere/new.json"], "there is no folder /nowhere"),
        (["--threshold", "-1"], "--threshold is -1;"),
        (["--threshold", "15"], "--threshold is 15; a share was expected: 0.15 is 15 %"),
        (["--import", "nonsense"], "name it with --device"),
        (["--import", "nonsense", "--device", "chip"], "nonsense"),
        (["--plugin", "/nowhere/libchip.so", "--device", "chip"], "/nowhere/libchip.so"),
    ],
)
def test_wrong_use_is_told_before_anything_is_measured(words: list[str], said: str) -> None:
    begin = time.monotonic()
    done = told(*words, status=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "is no result of"),
        ('{"what": "infinirt bench", "schema": 99}', "has format 99"),
        ('{"what": "infinirt bench", "schema": 1, "results": [{"id": "x"}]}', "result 0 has no group"),
        ('{"what": "infinirt bench", "schema": 1}', "there is no list of results"),
        ('{"what": "infinirt bench", "schema": 1, "results": {}}', "there is no list of results"),
        ('{"what": "infinirt bench", "schema": 1, "results": []}', "there is no device"),
        (
            '{"what": "infinirt bench", "schema": 1, "results": [], "device": {"name": "x"}}',
            "device has no device",
        ),
    ],
)
def test_files_that_are_no_results(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(document.BadFile, match=said):
        document.read(str(path))
    assert said in told("--load", str(path), status=2).stderr


@pytest.mark.parametrize(
    "part", ["device", "machine", "pace", "peers", "settings", "skipped", "version", "when"]
)
def test_files_that_lack_a_part(part: str, data: dict[str, Any], tmp_path: Path) -> None:
    path = str(tmp_path / "old.json")
    document.write(path, {key: value for key, value in data.items() if key != part})
    said = told("--load", path, "--html", str(tmp_path / "page.html"), status=2).stderr
    assert f"there is no {part}; it is no whole result" in said


# ---- a part of a file


def test_a_part_of_a_file_is_shown(data: dict[str, Any], tmp_path: Path) -> None:
    run, out = str(tmp_path / "run.json"), str(tmp_path / "out.json")
    document.write(run, data)
    said = told("--load", run, "--group", "graphs", "--group", "memory.copy", "--json", out).stdout
    assert "copy within the device" in said
    assert "record an event" not in said
    assert document.read(out)["results"] == only(data, "graphs", "memory.copy")["results"]


def test_a_part_of_two_files_is_compared(data: dict[str, Any], tmp_path: Path) -> None:
    slow, run = str(tmp_path / "slow.json"), str(tmp_path / "run.json")
    data = without_spread(data)
    document.write(run, data)
    document.write(slow, slowed(data, "runtime.event-record", 100))
    told("--load", slow, "--compare", run, "--group", "runtime", status=1)
    said = told("--load", slow, "--compare", run, "--group", "graphs").stdout
    assert "0 slower" in said
    assert "not measured this time" not in said


def test_a_part_that_a_file_does_not_have(data: dict[str, Any], tmp_path: Path) -> None:
    run = str(tmp_path / "run.json")
    document.write(run, only(data, "memory.copy"))
    said = told("--load", run, "--group", "graphs", status=2).stderr
    assert f"{run} has nothing of graphs; it has the groups memory, and the cases memory.copy" in said


def test_the_list() -> None:
    lines = told("--list", "--group", "graphs").stdout
    assert "graphs.launch" in lines
    assert "memory.copy" not in lines


def test_every_id_of_the_list_can_be_asked_for() -> None:
    for id in {case.id for case in CASES}:
        (line,) = told("--list", "--group", id).stdout.splitlines()
        assert line.split()[1] == id


def test_groups_and_cases_together(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    words = ["--group", "memory.fill", "--group", "runtime.event-record", "--group", "allocator"]
    bench("--device", "cpu:0", "--quick", "--rounds", "1", "--no-peers", *words, "--json", str(path))
    measured = {result["id"] for result in document.read(str(path))["results"]}
    assert measured == {"runtime.event-record", "memory.fill", "allocator.one", "allocator.threads"}


# ---- how it is timed


def test_contenders_take_turns() -> None:
    order: list[str] = []
    contenders = {
        name: Contender(lambda name=name: order.append(name), most=1)  # type: ignore[misc]
        for name in "abc"
    }
    timings = take_turns(contenders, Pace(rounds=4, round_seconds=1e-6))
    assert "".join(order[-12:]) == "abcbcacababc"
    assert {len(timing.samples) for timing in timings.values()} == {4}


def test_settling_is_not_timed() -> None:
    slow = Contender(lambda: None, lambda: time.sleep(0.01), most=10)
    timing = take_turns({"one": slow}, Pace(rounds=3, round_seconds=1e-4))["one"]
    assert timing.median < 0.001


def test_quantiles() -> None:
    timing = Timing([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (timing.median, timing.quantile(0.0), timing.quantile(1.0)) == (3.0, 1.0, 5.0)
    assert Timing([7.0]).quantile(0.9) == 7.0
    with pytest.raises(ValueError, match="at least 1 round"):
        Pace(rounds=0)


@pytest.mark.peer("torch")
def test_beside_pytorch(tmp_path: Path) -> None:
    bench(
        "--device",
        "cpu",
        "--quick",
        "--rounds",
        "1",
        "--group",
        "allocator",
        "--json",
        str(tmp_path / "run.json"),
    )
    results = json.loads((tmp_path / "run.json").read_text())["results"]
    assert {"PyTorch", "NumPy", "infinirt CachingPool"} <= {result["contender"] for result in results}


@pytest.mark.parametrize("type", ["cpu-min"])
def test_a_device_with_less(type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated streams and graphs are measured; operators and collectives it has none."""
    monkeypatch.setenv("INFINIRT_CPU_MIN", "1")
    path = tmp_path / "run.json"
    bench("--device", type, "--quick", "--rounds", "1", "--no-peers", "--json", str(path))
    data = document.read(str(path))
    assert {"runtime", "memory", "graphs"} <= {result["group"] for result in data["results"]}
    assert any("all-reduce" in name for name in data["skipped"])


def test_a_device_type_of_ones_own(tmp_path: Path) -> None:
    """A class in Python, in a file: everything that it lacks is emulated, and measured."""
    chip = Path(__file__).resolve().parents[2] / "examples" / "backends" / "simulator.py"
    path = tmp_path / "run.json"
    words = ["--device", "simulator", "--import", str(chip), "--quick", "--rounds", "1", "--no-peers"]
    bench(*words, "--group", "runtime", "--group", "graphs", "--json", str(path))
    data = document.read(str(path))
    assert data["device"]["device"] == "simulator:0"
    assert {result["id"] for result in data["results"]} >= {"runtime.event-record", "graphs.launch"}
