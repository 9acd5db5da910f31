"""`check()`: an operator written in Python against its reference, by the trials that built-in operators have to pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from infinirt.triton import raise_failure

from .. import _core
from .._places import place_for
from ..creation import from_numpy
from ..recording import record
from ..tensor import Tensor

if TYPE_CHECKING:
    from infiniop.conformance.operands import Operand, Trial

    from .registering import PythonOperator


class CheckFailed(AssertionError):
    """An operator gave something else than its reference, or took what it should have refused."""


@dataclass(frozen=True)
class Report:
    """What was tried, all of it with the right result."""

    operator: str
    device: str
    trials: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operator} on {self.device}: {len(self.trials)} trials, all as NumPy's"


def check(operator: PythonOperator, device: Any = None) -> Report:
    """Calls an operator with the trials that its kind has in the conformance kit, and compares with its reference in NumPy.

    Several element types with ordinary and special values; inputs and outputs that are transposed, backwards, with gaps, repeated and
    empty, whose surroundings must stay as they were; a call without `out=`; a recorded graph, run twice; and wrong arguments, which
    must be refused. Without a device on the thread's current one. Raises CheckFailed with the first difference.
    """
    from infiniop.conformance.trials import LAYOUTS, VALUES

    from .registering import PythonOperator

    if not isinstance(operator, PythonOperator):
        raise TypeError(f"check() takes what infinicore.operator() made, not {type(operator).__name__}")
    place = place_for(device)
    operator.function_for(place.stream.device.type)
    kind = operator.schema.kind
    done: list[str] = []
    for trial in (*VALUES[kind](operator.schema), *LAYOUTS[kind](operator.schema)):
        _try(operator, place, trial)
        done.append(trial.what)
    done += _plain_and_recorded(operator, place)
    done += _refusals(operator, place)
    return Report(operator.__name__, str(place.device), tuple(done))


class _Memory:
    """The trial's pieces of memory on the device, and tensors over them."""

    def __init__(self, place: _core.Place) -> None:
        self.place = place
        self.roots: dict[int, Tensor] = {}

    def tensor(self, operand: Operand, dtype: _core.dtype) -> Tensor:
        import numpy as np

        root = operand.root
        if id(root) not in self.roots:
            flat = np.frombuffer(root.tobytes() or bytes(16), dtype=np.uint8)
            self.roots[id(root)] = from_numpy(flat, device=self.place)
        whole = self.roots[id(root)]
        address = whole.data_ptr() + (operand.offset if root.nbytes else 0)
        return _core.wrap(
            self.place, dtype, operand.view.shape, operand.strides, address, whole, False, False
        )

    def seen(self, operand: Operand) -> bytearray:
        """What the piece of memory holds now."""
        whole = self.roots[id(operand.root)]
        return bytearray(whole.clone().numpy().tobytes()[: operand.root.nbytes])


def _dtype(schema_name: str) -> _core.dtype:
    from .registering import NAMES

    return next(dtype for dtype in _core.dtypes if dtype.name == NAMES[schema_name])


def _arguments(
    operator: PythonOperator, memory: _Memory, trial: Trial
) -> tuple[list[Tensor | None], dict[str, Any]]:
    inputs = []
    for each in operator.inputs:
        operand = trial.operands[each.name]
        inputs.append(None if operand is None else memory.tensor(operand, _dtype(trial.dtypes[each.name])))
    return inputs, {each.name: trial.values[each.name] for each in operator.attributes}


def _try(operator: PythonOperator, place: _core.Place, trial: Trial) -> None:
    memory = _Memory(place)
    inputs, values = _arguments(operator, memory, trial)
    outs = []
    for name in operator.outputs:
        out = trial.operands[name]
        assert out is not None
        # What a trial has as a byte, 0 or 1, is bool in Python.
        is_truth = operator.schema.dtype_rule == "truth"
        outs.append(memory.tensor(out, _dtype("BOOL" if is_truth else trial.dtypes[name])))
    operator(*inputs, **values, out=outs)
    _finish(place)
    for name, expected in _results(operator, trial):
        _compare(operator, name, expected, memory)


def _finish(place: _core.Place) -> None:
    place.sync()
    raise_failure(place.stream.device)


def _results(operator: PythonOperator, trial: Trial) -> Iterator[tuple[str, Trial]]:
    yield operator.outputs[0], trial
    for name, (expected, limit) in trial.further.items():
        yield name, replace(trial, expected=expected, limit=limit)


def _compare(operator: PythonOperator, name: str, trial: Trial, memory: _Memory) -> None:
    out = trial.operands[name]
    assert out is not None
    if not out.root.nbytes:
        return
    seen = memory.seen(out)
    result = out.over(seen)
    _expect(operator, name, trial, result.copy())
    result[...] = out.view
    if bytes(seen) != out.root.tobytes():
        raise CheckFailed(f"{operator.__name__} of {trial.what} wrote beside the elements of {name}")


def _expect(operator: PythonOperator, name: str, trial: Trial, seen: Any) -> None:
    from infiniop.conformance.trials import wrong_elements

    out = trial.operands[name]
    assert out is not None
    wrong = wrong_elements(trial, out, seen)
    if wrong:
        which = f"{operator.__name__} ({name})" if len(operator.outputs) > 1 else operator.__name__
        raise CheckFailed(f"{which} of {trial.what}: {wrong}")


def _first_trial(operator: PythonOperator) -> Trial:
    from infiniop.conformance.trials import VALUES

    return next(iter(VALUES[operator.schema.kind](operator.schema)))


def _plain_and_recorded(operator: PythonOperator, place: _core.Place) -> Iterator[str]:
    trial = _first_trial(operator)
    memory = _Memory(place)
    inputs, values = _arguments(operator, memory, trial)

    def compare(results: Any, what: str) -> None:
        _finish(place)
        given = results if isinstance(results, tuple) else (results,)
        for (name, expected), result in zip(_results(operator, trial), given, strict=True):
            # The memory of a trial's bool is a byte's.
            array = result.clone().numpy().view(expected.operands[name].view.dtype)  # type: ignore[union-attr]
            _expect(operator, name, replace(expected, what=f"{trial.what}, {what}"), array)

    compare(operator(*inputs, **values), "without out")
    yield "without out"
    with record(place) as recorded:
        results = operator(*inputs, **values)
    for _ in range(2):
        recorded.graph.run()
        compare(results, "recorded")
    yield "recorded"


def _refusals(operator: PythonOperator, place: _core.Place) -> Iterator[str]:
    trial = _first_trial(operator)
    inputs, values = _arguments(operator, _Memory(place), trial)
    first = inputs[0]
    assert first is not None
    unknown = next((dtype for dtype in _core.dtypes if dtype not in operator.dtypes), None)
    wrong: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("no tensor", ["x", *inputs[1:]], {}),
        ("an argument that is not there", inputs, {"no_such_argument": 1}),
    ]
    if unknown is not None:
        other = [None if t is None else _core.empty(place, unknown, t.shape) for t in inputs]
        wrong.append((f"element type {unknown.name}", other, {}))
    out = _core.empty(place, operator.dtypes[0], [7, 7, 7, 7, 7])
    wrong.append(("an output of shape [7, 7, 7, 7, 7]", inputs, {"out": out}))
    for what, given, more in wrong:
        try:
            operator(*given, **values, **more)
        except (TypeError, ValueError):
            yield f"refused: {what}"
        else:
            raise CheckFailed(f"{operator.__name__} took {what}")
