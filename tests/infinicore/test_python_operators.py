"""Operators written in Python, without any of the languages: what is checked, made and recorded around an operator's function."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_support import keep_busy, new_place

import infinicore
import infinirt
from infinicore.languages import CheckFailed, PythonOperator, check, registered
from infiniop.schema import Attribute, Tensor


def scaled_sum(**more: Any) -> PythonOperator:
    """`a + alpha * b`; on the CPU of other operators."""

    @infinicore.operator(
        tensors=(Tensor("c", "out"), Tensor("a"), Tensor("b")),
        attributes=(Attribute("alpha", "float", "The factor.", default=1.0),),
        dtypes=("F32", infinicore.float64),
        reference=lambda np, a, b, alpha: a + alpha * b,
        devices=(),
        **more,
    )
    def scaled_sum(c: Any, a: Any, b: Any, alpha: float) -> None:
        """`a + alpha * b`."""

    @scaled_sum.on("cpu")
    def by_others(c: Any, a: Any, b: Any, alpha: float) -> None:
        infinicore.add(a, b * alpha, out=c)

    return scaled_sum


def test_check_finds_an_attribute_that_nobody_looks_at() -> None:
    made = scaled_sum()

    @made.on("cpu")
    def without_alpha(c: Any, a: Any, b: Any, alpha: float) -> None:
        infinicore.add(a, b, out=c)

    with pytest.raises(CheckFailed, match="alpha = 2"):
        check(made)


def test_a_reference_with_other_parameters_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"twice: reference\(np, a, b\) cannot be called as reference\(numpy, x\)"
    ):
        infinicore.operator(
            tensors=(Tensor("y", "out"), Tensor("x")),
            dtypes=("F32",),
            reference=lambda np, a, b: a,
            devices=(),
            name="twice",
        )(lambda y, x: None)


def row_mean(function: Callable[..., object]) -> PythonOperator:
    made = infinicore.operator(
        tensors=(Tensor("m", "out", place="row"), Tensor("x"), Tensor("w", place="column", default=1.0)),
        dtypes=("F32",),
        reference=lambda np, x, w: (x * w).mean(axis=-1),
        kind="rows",
        devices=(),
        name="row_mean",
        domain=(0.5, 4.0),  # terms that cancel would show each rounding
        ulps=16,
    )(lambda m, x, w: None)
    return made.on("cpu")(function)


def mean(m: Any, x: Any, w: Any) -> None:
    infinicore.mean(x if w is None else x * w, dim=[-1], out=m)


x = infinicore.from_numpy(np.arange(6, dtype="float32").reshape(2, 3))


def test_it_is_called_as_other_operators_are() -> None:
    add = scaled_sum()
    assert add(x, x).tolist() == (x + x).tolist()
    for _ in range(2):  # looked at in full, and found again
        assert add(x, x, 0.5).tolist() == add(x, b=x, alpha=0.5).tolist() == (x * 1.5).tolist()
        assert add(x, x, alpha=2).tolist() == (x * 3.0).tolist()
    assert add(x, x[0]).tolist() == (x + x[0]).tolist()
    assert add(x, 1).tolist() == (x + 1.0).tolist()
    assert add(x.T, x.T).stride() == [2, 1]
    assert add(infinicore.ones([2, 0]), infinicore.ones([1])).shape == [2, 0]
    assert registered()["scaled_sum"] is add
    assert add.devices == ("cpu",)
    assert str(add.__signature__) == "(a, b, alpha=1.0, *, out=None)"
    assert "Element types: float32, float64" in (add.__doc__ or "")


def test_outputs_may_be_given_and_may_overlap_inputs() -> None:
    add = scaled_sum()
    out = infinicore.zeros([3, 2]).T
    for _ in range(2):
        assert add(x, x, out=out) is out
        assert out.tolist() == (x + x).tolist()
    line = infinicore.from_numpy(np.arange(5, dtype="float32"))
    add(line[:4], 1, out=line[1:])
    assert line.tolist() == [0, 1, 2, 3, 4]
    add(line[:4], line[:4], out=line[:4])
    assert line.tolist() == [0, 2, 4, 6, 4]
    means = infinicore.zeros([2])
    assert row_mean(mean)(x, out=[means]) is means


def test_inputs_are_repeated_to_an_output_that_is_given() -> None:
    twice = infinicore.operator(
        tensors=(Tensor("y", "out"), Tensor("x")),
        dtypes=("F32",),
        reference=lambda np, x: x * 2.0,
        devices=(),
        name="twice",
    )(lambda y, x: None)
    twice.on("cpu")(lambda y, x: infinicore.mul(x, 2.0, out=y))
    column, out = infinicore.ones([3, 1]), infinicore.zeros([3, 5])
    for _ in range(2):
        assert twice(column, out=out) is out
        assert out.tolist() == [[2.0] * 5] * 3
    assert twice(column).shape == [3, 1]
    assert scaled_sum()(column, column, out=out).tolist() == [[2.0] * 5] * 3
    with pytest.raises(ValueError, match=r"out has shape \[3, 1\], but \[3, 5\] was expected"):
        twice(out, out=infinicore.zeros([3, 1]))
    assert "all as NumPy's" in str(twice.check("cpu"))


def test_one_of_two_outputs_may_be_given() -> None:
    @infinicore.operator(
        tensors=(Tensor("s", "out"), Tensor("d", "out"), Tensor("a"), Tensor("b")),
        dtypes=("F32",),
        reference=lambda np, a, b: (a + b, a - b),
        kind="rows",
        devices=(),
    )
    def sum_and_difference(s: Any, d: Any, a: Any, b: Any) -> None: ...

    @sum_and_difference.on("cpu")
    def by_others(s: Any, d: Any, a: Any, b: Any) -> None:
        infinicore.add(a, b, out=s)
        infinicore.sub(a, b, out=d)

    s, d = infinicore.zeros([2, 3]), infinicore.zeros([2, 3])
    wanted = (x + x).tolist(), (x - x).tolist()
    for _ in range(2):  # looked at in full, and found again
        for outs in ({}, {"out": s}, {"d": d}, {"out": (s, d)}, {"out": (None, d)}, {"out": s, "d": d}):
            found = sum_and_difference(x, x, **outs)
            assert tuple(each.tolist() for each in found) == wanted
            given = outs.get("out")
            assert found[0] is s or given is not s
            assert found[1] is d or "d" not in outs
    check(sum_and_difference)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda f: f("x", x), TypeError, r"b must be a Tensor or a number|a must be a Tensor"),
        (lambda f: f(x), TypeError, "needs the argument 'b'"),
        (lambda f: f(x, x, 1.0, 2.0), TypeError, "takes 3 arguments by position, not 4"),
        (lambda f: f(x, x, beta=1), TypeError, "has no argument 'beta'; it has a, b, alpha and out"),
        (lambda f: f(x, x, 1.0, alpha=2), TypeError, "'alpha' twice"),
        (lambda f: f(x, x, alpha="big"), TypeError, "alpha must be a number, not str"),
        (lambda f: f(x, infinicore.ones([2, 4])), ValueError, r"size 4 in dimension -1.* have 3 there"),
        (lambda f: f(x, x.to(dtype=infinicore.float64)), TypeError, "b is float64, but float32 was expected"),
        (
            lambda f: f(x.to(dtype=infinicore.float16), x),
            TypeError,
            "takes float32, float64; .to\\(\\) converts",
        ),
        (lambda f: f(x, x, out=infinicore.zeros([2])), ValueError, r"out has shape \[2\], but \[2, 3\]"),
        (lambda f: f(x, x, out=3), TypeError, "out must be a Tensor, not int"),
        (lambda f: f(x, x, out=(x, x)), TypeError, "out has 2 tensors, but there are 1 outputs"),
        (
            lambda f: f(x, x, out=infinicore.zeros([1, 3]).as_strided([2, 3], [0, 1])),
            ValueError,
            "stride 0",
        ),
        (
            lambda f: f(x, infinicore.empty([3], device=new_place())),
            ValueError,
            "another Runtime of cpu:0",
        ),
    ],
)
def test_what_is_wrong_is_said(call: Callable[..., Any], error: type[Exception], text: str) -> None:
    add = scaled_sum()
    for _ in range(2):
        with pytest.raises(error, match=text):
            call(add)
        add(x, x)  # and what was kept of it does not hide the next mistake


def test_rows_and_shapes_are_checked() -> None:
    means = row_mean(mean)
    assert means(x).tolist() == [1.0, 4.0]
    assert means(x, infinicore.full([3], 2.0)).tolist() == [2.0, 8.0]
    with pytest.raises(
        ValueError, match=r"w has shape \[2\], but \[3\] was expected beside x of shape \[2, 3\]"
    ):
        means(x, infinicore.ones([2]))
    with pytest.raises(ValueError, match="x has no dimensions"):
        means(infinicore.ones([]))

    @infinicore.operator(
        tensors=(Tensor("y", "out"), Tensor("x")),
        dtypes=("F32",),
        reference=lambda np, x: np.concatenate([x, x]),
        kind="shaped",
        shape=lambda x: (2 * x[0], *x[1:]),
        examples=[{"x": (3, 2)}],
        devices=(),
    )
    def twice(y: Any, x: Any) -> None: ...

    @twice.on("cpu")
    def copies(y: Any, x: Any) -> None:
        n = x.size(0)
        y[:n].copy_(x)
        y[n:].copy_(x)

    assert twice(x).shape == [4, 3]
    assert "transposed" in " ".join(check(twice).trials)


def test_truth_values() -> None:
    @infinicore.operator(
        tensors=(Tensor("t", "out"), Tensor("a"), Tensor("b")),
        dtypes=("F32", "U8"),
        reference=lambda np, a, b: a < b,
        dtype_rule="truth",
        devices=(),
    )
    def below(t: Any, a: Any, b: Any) -> None: ...

    @below.on("cpu")
    def by_others(t: Any, a: Any, b: Any) -> None:
        infinicore.less(a, b, out=t)

    assert below(x, 2.0).tolist() == [[True, True, False], [False, False, False]]
    assert "U8, contiguous" in check(below).trials
    with pytest.raises(TypeError, match="out is float32, but bool was expected"):
        below(x, x, out=x)


def test_a_device_type_without_a_function_is_named() -> None:
    add = scaled_sum()
    add._plain.clear()
    with pytest.raises(
        NotImplementedError, match=r"nothing for device type 'cpu', but for none; @scaled_sum.on\('cpu'\)"
    ):
        add(x, x)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": "gemm"}, "`map`, `rows` or `shaped`"),
        ({"kind": "shaped"}, "a rule for shapes and examples"),
        ({"kind": "shaped", "shape": min, "examples": [{"y": (2,)}]}, "the shape of each input"),
        ({"dtypes": ("F33",)}, "'F33' is no element type"),
        ({"tensors": (Tensor("y", "inout"),)}, "nothing that is both"),
        ({"tensors": (Tensor("y", "out"), Tensor("z"))}, r"parameters \['y', 'x'\].* are \['y', 'z'\]"),
        ({"tensors": (Tensor("y", "out"), Tensor("out"))}, "only the first may be 'out'"),
        ({"tensors": (Tensor("y", "out"), Tensor("y"))}, "must have different names"),
        ({"name": "two words"}, "no name for an operator"),
    ],
)
def test_registering_says_what_does_not_fit(change: dict[str, Any], text: str) -> None:
    right: dict[str, Any] = {
        "tensors": (Tensor("y", "out"), Tensor("x")), "dtypes": ("F32",), "reference": lambda np, x: x
    }  # fmt: skip
    with pytest.raises(ValueError, match=text):
        infinicore.operator(**{"name": "same", **right, **change})(lambda y, x: None)


def test_calls_are_recorded() -> None:
    add = scaled_sum()
    before = infinicore.ones([2, 3])
    with infinicore.record() as recorded:
        out = add(before, x, 2.0) * 1.0
        with pytest.raises(TypeError):
            add(before, "x")
    recorded.graph.run()
    before.copy_(x)
    recorded.graph.run()
    assert out.tolist() == (x * 3.0).tolist()


def test_tensors_that_a_function_makes_are_of_the_place_of_the_call() -> None:
    place = new_place()
    add, seen = scaled_sum(), []

    @add.on("cpu")
    def by_others(c: Any, a: Any, b: Any, alpha: float) -> None:
        seen.append(infinicore.empty([1])._place)
        infinicore.add(a, b, out=c)

    there = infinicore.ones([3], device=place)
    add(there, there)
    assert seen == [place]
    assert infinicore.empty([1])._place is not place


def test_nothing_is_called_on_a_closed_place() -> None:
    place, add = new_place(), scaled_sum()
    there, out = infinicore.ones([3], device=place), infinicore.empty([3], device=place)
    add(there, there, out=out)
    place.close()
    add.on("cpu")(lambda c, a, b, alpha: pytest.fail("called"))
    for more in ({}, {"out": out}):
        with pytest.raises(infinirt.InvalidHandleError, match="the place was closed"):
            add(there, there, **more)


def test_memory_that_is_shared_is_complete_when_a_call_returns() -> None:
    array = np.ones(4, dtype="float32")
    shared = infinicore.from_numpy(array, copy=False)
    add = scaled_sum()
    for _ in range(2):
        keep_busy(shared._place)
        add(shared, 1.0, out=shared)
        keep_busy(shared._place)
        add(shared, shared, out=shared)
    assert array.tolist() == [10.0] * 4


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda m, x, w: m.fill_(0), "row_mean of F32, rows of 1: 0.0 at"),
        (lambda m, x, w: infinicore.mean(x, dim=[-1], out=m), "row_mean of F32"),
        (lambda m, x, w: None, "row_mean of F32"),
    ],
)
def test_check_finds_wrong_results(function: Callable[..., object], text: str) -> None:
    with pytest.raises(CheckFailed, match=text):
        check(row_mean(function))


def test_check_finds_what_is_written_beside_the_output() -> None:
    def by_the_neighbour(c: Any, a: Any, b: Any, alpha: float) -> None:
        infinicore.add(a, b * alpha, out=c)
        if c.ndim == 2 and c.stride()[1] == 2:
            c._strided([1], [1], 1).fill_(7)

    with pytest.raises(CheckFailed, match="wrote beside the elements of c"):
        check(scaled_sum(strides=True, domain=(-1.0, 1.0)).on("cpu")(by_the_neighbour))


def test_check_passes_and_says_what_it_did() -> None:
    report = check(row_mean(mean), "cpu")
    assert str(report) == f"row_mean on cpu:0: {len(report.trials)} trials, all as NumPy's"
    assert {"without out", "recorded", "F32, transposed", "F32, inputs left out"} <= set(report.trials)
    assert len(scaled_sum(extremes=False).check().trials) > 15
    with pytest.raises(TypeError, match=r"what infinicore.operator\(\) made, not builtin_function"):
        check(infinicore.add)  # type: ignore[arg-type]


def test_plans_do_not_keep_places_or_tensors() -> None:
    add = scaled_sum()
    for size in range(1, 1100):
        one = infinicore.empty([size])
        add(one, one)
    assert 0 < len(add._plans) < 1100
    place = new_place()
    there = infinicore.ones([3], device=place)
    add(there, there)
    gone = sys.getrefcount(place)
    del there
    gc.collect()
    assert sys.getrefcount(place) < gone


def test_the_languages_are_not_imported_before_they_are_needed() -> None:
    code = "import infinicore, sys; sys.exit(bool({'triton', 'ninetoothed', 'torch'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
