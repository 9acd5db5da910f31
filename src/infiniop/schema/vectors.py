"""BLAS's operators on vectors that are changed together, and on one vector's largest element."""

from __future__ import annotations

from typing import Any

from .model import REALS, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")


def single(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"has_one_element(plan, tensor::{name})", f"{name} must have one element") for name in names
    )


def extreme_trials(np: Any, random: Any) -> Any:
    yield {"x": np.array([[1.0, -4, 2], [4, 0, -0.5]])}
    yield {"x": random.normal(size=5000)}
    yield {"x": np.array([2.0, np.nan, 8, np.nan])}
    yield {"x": np.full(70, -3.0)}
    yield {"x": np.array(1.5)}
    yield {"x": np.zeros((0, 3))}


def extreme(largest: bool) -> Any:
    def reference(np: Any, x: Any) -> Any:
        if x.size == 0:
            return np.int32(0)
        sizes = np.abs(x.reshape(-1))
        return np.int32((np.argmax if largest else np.argmin)(sizes) + 1)

    return reference


def extreme_operator(name: str, which: str, largest: bool) -> Operator:
    return Operator(
        name,
        f"The place of the element of `x` with the {which} absolute value, counted from 1 as BLAS does: the first of them, and "
        "what is not a number before any; 0 where there is none.",
        (Tensor("x"), Tensor("result", "out", dtypes=("I32",))),
        FLOATING,
        extreme(largest),
        kind="written",
        written=Written({"x": "...", "result": "*"}, extreme_trials, rules=single("result")),
        header=f"blas_{'amax' if largest else 'amin'}",
        ulps=0,
    )


def pairs(np: Any, random: Any) -> Any:
    for shape in ((3, 50), (20000,), (), (2, 0)):
        yield random.normal(size=shape) * 3, random.normal(size=shape) * 3


def swap_trials(np: Any, random: Any) -> Any:
    for x, y in pairs(np, random):
        yield {"x": x, "y": y}


def rot_trials(np: Any, random: Any) -> Any:
    for number, (x, y) in enumerate(pairs(np, random)):
        yield {
            "x": x,
            "y": y,
            "c": np.array([0.5, -1, 0.25, 1][number]),
            "s": np.array([[0.75], [2], [0.5], [0]][number]),
        }


def rotm_trials(np: Any, random: Any) -> Any:
    flags = (-1, 0, 1, -2)
    for number, (x, y) in enumerate(pairs(np, random)):
        yield {"x": x, "y": y, "param": np.array([flags[number], 0.5, -2, 1.5, 0.25])}
    x, y = next(pairs(np, random))
    for flag in (1, -2):
        yield {"x": x, "y": y, "param": np.array([flag, 0.5, -2, 1.5, 0.25])}


def rotm(np: Any, x: Any, y: Any, param: Any) -> Any:
    flag, h11, h21, h12, h22 = (float(number) for number in param)
    if flag == -2:
        return x, y
    if flag == 0:
        h11 = h22 = 1
    elif flag == 1:
        h12, h21 = 1, -1
    return h11 * x + h12 * y, h21 * x + h22 * y


def rotg_trials(np: Any, random: Any) -> Any:
    for x, y in ((3.0, 4.0), (-5.0, 2.0), (0.0, 0.0), (0.0, 2.0), (4.0, 0.0), (1.5, -2.5)):
        yield {"x": np.array(x).reshape(1), "y": np.array(y)}


def rotg(np: Any, x: Any, y: Any) -> Any:
    a, b = float(x.reshape(())), float(y.reshape(()))
    shape = x.shape
    if a == 0 and b == 0:
        r, z, c, s = 0.0, 0.0, 1.0, 0.0
    else:
        r = float(np.copysign(np.hypot(a, b), a if abs(a) > abs(b) else b))
        c, s = a / r, b / r
        z = s if abs(a) > abs(b) else 1 / c if c else 1.0
    return np.full(shape, r), np.full(y.shape, z), np.array(c), np.array(s)


def rotmg_trials(np: Any, random: Any) -> Any:
    for d1, d2, x1, y1 in (
        (1.0, 2.0, 3.0, 1.0), (2.0, 1.5, 0.5, 2.0), (-1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 0.0), (2.0, -3.0, 1.0, 4.0),
        (4e-8, 2e-8, 3.0, 2.0), (6e4, 5e4, 0.5, 8.0),
    ):  # fmt: skip
        yield {"d1": np.array(d1), "d2": np.array(d2), "x1": np.array(x1), "y1": np.array(y1)}


def rotmg(np: Any, d1: Any, d2: Any, x1: Any, y1: Any) -> Any:
    """After the text of BLAS's definition; gamma is 4096."""
    gamma = 4096.0
    a, b, x, y = (float(each.reshape(())) for each in (d1, d2, x1, y1))
    flag, h = -1.0, {"11": 0.0, "21": 0.0, "12": 0.0, "22": 0.0}

    def result() -> Any:
        made = np.array([flag, h["11"], h["21"], h["12"], h["22"]])
        return np.full(d1.shape, a), np.full(d2.shape, b), np.full(x1.shape, x), made

    if a < 0:
        a = b = x = 0.0
        return result()
    if b * y == 0:
        flag = -2.0
        return result()
    p1, p2 = a * x, b * y
    if abs(p1 * x) > abs(p2 * y):
        h["21"], h["12"] = -y / x, p2 / p1
        u = 1 - h["12"] * h["21"]
        flag, a, b, x = 0.0, a / u, b / u, x * u
    elif p2 * y < 0:
        a = b = x = 0.0
        return result()
    else:
        h["11"], h["22"] = p1 / p2, x / y
        u = 1 + h["11"] * h["22"]
        flag, a, b, x = 1.0, b / u, a / u, y * u
    for weight, row in ((a, "1"), (b, "2")):
        while weight != 0 and (abs(weight) <= gamma**-2 or abs(weight) >= gamma**2):
            if flag == 0:
                h["11"] = h["22"] = 1.0
            elif flag == 1:
                h["21"], h["12"] = -1.0, 1.0
            flag = -1.0
            up = abs(weight) <= gamma**-2
            weight *= gamma**2 if up else gamma**-2
            factor = 1 / gamma if up else gamma
            h[f"{row}1"] *= factor
            h[f"{row}2"] *= factor
            if row == "1":
                x *= factor
        a, b = (weight, b) if row == "1" else (a, weight)
    return result()


OPERATORS: tuple[Operator, ...] = (
    extreme_operator("BlasAmax", "largest", True),
    extreme_operator("BlasAmin", "smallest", False),
    Operator(
        "Swap",
        "`x` and `y` exchange their elements.",
        (Tensor("x", "inout", python="x"), Tensor("y", "inout")),
        REALS,
        lambda np, x, y: (y, x),
        kind="written",
        written=Written({"x": "...", "y": "..."}, swap_trials),
        ulps=0,
    ),
    Operator(
        "Rot",
        "Each pair of elements turned: `c * x + s * y` and `c * y - s * x`.",
        (Tensor("x", "inout", python="x"), Tensor("y", "inout"), Tensor("c"), Tensor("s")),
        FLOATING,
        lambda np, x, y, c, s: (c.reshape(()) * x + s.reshape(()) * y, c.reshape(()) * y - s.reshape(()) * x),
        kind="written",
        written=Written({"x": "...", "y": "...", "c": "*", "s": "*"}, rot_trials, rules=single("c", "s")),
        ulps=4,
    ),
    Operator(
        "Rotg",
        "The rotation that makes `(x, y)` `(r, 0)`: `c` and `s`, with `r` in `x`, and in `y` the number from which both can be made again.",
        (
            Tensor("x", "inout", python="x"),
            Tensor("y", "inout"),
            Tensor("c", "out"),
            Tensor("s", "out"),
        ),
        FLOATING,
        rotg,
        kind="written",
        written=Written(
            {"x": "*", "y": "*", "c": "*", "s": "*"}, rotg_trials, rules=single("x", "y", "c", "s")
        ),
        ulps=8,
    ),
    Operator(
        "Rotm",
        "Each pair of elements times a matrix: `h11 * x + h12 * y` and `h21 * x + h22 * y`. `param` is a flag and h11, h21, h12, h22; "
        "flag -1: all of them, 0: 1 on the diagonal, 1: 1 and -1 beside it, -2: nothing changes.",
        (Tensor("x", "inout", python="x"), Tensor("y", "inout"), Tensor("param")),
        FLOATING,
        rotm,
        kind="written",
        written=Written({"x": "...", "y": "...", "param": "5"}, rotm_trials),
        ulps=4,
    ),
    Operator(
        "Rotmg",
        "BLAS's modified rotation: `param`, as Rotm takes it, makes the second component of `(sqrt(d1) * x1, sqrt(d2) * y1)` zero; "
        "`d1`, `d2` and `x1` become those after it.",
        (
            Tensor("d1", "inout"),
            Tensor("d2", "inout"),
            Tensor("x1", "inout"),
            Tensor("y1"),
            Tensor("param", "out"),
        ),
        FLOATING,
        rotmg,
        kind="written",
        written=Written(
            {"d1": "*", "d2": "*", "x1": "*", "y1": "*", "param": "5"},
            rotmg_trials,
            rules=single("d1", "d2", "x1", "y1"),
        ),
        ulps=16,
        narrow_ulps=1,
    ),
)
