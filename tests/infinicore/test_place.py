"""Places: device, stream, pool and operators' handle, and which place a thread works on."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

import pytest

import infinirt
from infinicore import _core


@dataclass(frozen=True)
class Where:
    type_name: str = "cpu"
    index: int = 0


def make_place() -> _core.Place:
    device = infinirt.Device("cpu")
    return _core.Place(Where(), device.create_stream(), infinirt.CachingPool(device))


def test_a_place_has_its_parts_and_gives_memory_in_the_order_of_its_stream() -> None:
    place = make_place()
    assert place.device == Where()
    assert place.operator_handle != 0
    assert not place.is_recording
    buffer = place.allocate(100)
    assert buffer.size == 100
    assert buffer.stream is place.stream
    assert buffer.memory_resource is place.pool


def test_a_closed_place_says_so() -> None:
    place = make_place()
    place.close()
    place.close()
    assert place.is_closed
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        place.allocate(1)
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        _ = place.operator_handle


def test_parts_that_do_not_belong_together_are_refused() -> None:
    device = infinirt.Device("cpu")
    stream, pool = device.create_stream(), infinirt.CachingPool(device)
    with pytest.raises(TypeError, match="Stream"):
        _core.Place(Where(), object(), pool)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="CachingPool"):
        _core.Place(Where(), stream, object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cpu:1, but its stream is of cpu:0"):
        _core.Place(Where(index=1), stream, pool)
    with pytest.raises(AttributeError):
        _core.Place(object(), stream, pool)  # type: ignore[arg-type]


def test_every_thread_has_its_own_current_place_and_lets_go_of_it() -> None:
    mine, theirs = make_place(), make_place()
    before = _core.set_current(mine)
    seen: list[object] = []

    def other(place: _core.Place) -> None:
        seen.append(_core.set_current(place))
        seen.append(_core.current())

    thread = threading.Thread(target=other, args=(theirs,))
    try:
        thread.start()
        thread.join()
        assert seen == [None, theirs]
        assert _core.current() is mine
        gone = weakref.ref(theirs)
        seen.clear()
        del theirs, thread
        assert gone() is None
    finally:
        _core.set_current(before)


def test_a_thread_without_a_place_gets_the_default() -> None:
    place = make_place()
    before = _core.set_current(None)
    default = _core.set_default(lambda: place)
    try:
        assert _core.current() is place
        _core.set_default(lambda: 1)  # type: ignore[arg-type, return-value]
        with pytest.raises(TypeError, match="not a Place"):
            _core.current()
        _core.set_default(None)
        with pytest.raises(RuntimeError, match="no default"):
            _core.current()
    finally:
        _core.set_default(default)
        _core.set_current(before)
