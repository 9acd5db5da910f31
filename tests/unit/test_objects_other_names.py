"""Names of other projects that are tried here: the error says what they are called, and nothing else changes."""

from __future__ import annotations

import abc
import inspect
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from objects_support import TYPE

import infinirt
from infinirt import _core
from infinirt._other_names import OTHER_NAMES

CASES = [(owner, name) for owner, names in OTHER_NAMES.items() for name in names]


@pytest.fixture(scope="module")
def objects() -> dict[str, object]:
    device = infinirt.Device(TYPE)
    stream = device.create_stream()
    graph = infinirt.Graph(device)
    return {
        "Device": device,
        "Stream": stream,
        "Event": stream.record(),
        "Buffer": device.allocate(8),
        "Graph": graph,
        "GraphExec": graph.instantiate(),
        "infinirt": infinirt,
    }


@pytest.mark.parametrize(("owner", "name"), CASES)
def test_the_error_says_what_it_is_called_here(owner: str, name: str, objects: dict[str, object]) -> None:
    thing, advice = objects[owner], OTHER_NAMES[owner][name]
    with pytest.raises(AttributeError) as caught:
        getattr(thing, name)
    who = "module 'infinirt'" if owner == "infinirt" else f"'{owner}' object"
    assert str(caught.value) == f"{who} has no attribute '{name}': {advice}"
    assert caught.value.name == name
    assert not hasattr(thing, name)
    assert name not in dir(thing)
    if owner != "infinirt":
        assert not hasattr(type(thing), name)
    called = re.match(r"it is called (?:infinirt\.Device\(.*?\)\.|(stream)\.)?(\w+)", advice)
    if called and not advice.startswith("it is called infinirt."):  # what it is called exists
        assert hasattr(objects["Stream"] if called[1] else thing, called[2])


def test_python_does_not_add_guesses() -> None:
    """Its own, "Did you mean: 'close'?" of clone(), would be a second answer, and a wrong one."""
    for line in ("infinirt.Device('cpu').allocate(8).clone()", "infinirt.device_count()"):
        done = subprocess.run(
            [sys.executable, "-c", f"import infinirt; {line}"], capture_output=True, text=True, timeout=60
        )
        assert "AttributeError" in done.stderr
        assert "Did you mean" not in done.stderr


@pytest.mark.parametrize("owner", [owner for owner in OTHER_NAMES if owner != "infinirt"])
def test_what_there_is_stays_as_it_is(owner: str, objects: dict[str, object]) -> None:
    thing = objects[owner]
    assert type(thing).__getattribute__ is object.__getattribute__
    assert not hasattr(type(thing), "__getattr__")  # which would make every call of a method slower
    real = {name for kind in type(thing).__mro__ for name in vars(kind)} - OTHER_NAMES[owner].keys()
    assert set(dir(thing)) == real
    with pytest.raises(AttributeError, match=rf"^'{owner}' object has no attribute 'nonsense'$"):
        thing.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert not {name for name, _ in inspect.getmembers(thing)} & OTHER_NAMES[owner].keys()


def test_modules_and_names_that_nobody_has() -> None:
    with pytest.raises(AttributeError, match=r"^module 'infinirt' has no attribute 'nonsense'$"):
        infinirt.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"^type object 'Stream' has no attribute 'synchronize': it is called sync"
    ):
        infinirt.Stream.synchronize  # type: ignore[attr-defined]  # noqa: B018


def test_a_derived_class_may_have_such_a_name() -> None:
    class Graph(infinirt.Graph):
        def replay(self) -> str:
            return "mine"

    graph = Graph(TYPE)
    assert graph.replay() == "mine"
    assert "replay" in dir(graph)
    assert "launch" not in dir(graph)
    assert not hasattr(graph, "launch")


def test_the_classes_can_be_combined_with_others() -> None:
    class Watched(infinirt.Stream, abc.ABC):
        pass

    assert issubclass(Watched, infinirt.Stream)


def test_the_classes_beneath_know_nothing_of_it() -> None:
    assert "synchronize" not in dir(_core.StreamBase)


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (lambda: infinirt.stream(None), "infinirt.stream is a module, not a function: there is no current stream here"),  # type: ignore[operator]
        (lambda: infinirt.graph(None), "infinirt.graph is a module, not a function: `with infinirt.capture(stream)"),  # type: ignore[operator]
    ],
)  # fmt: skip
def test_modules_in_the_place_of_functions(called: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(said)}"):
        called()
