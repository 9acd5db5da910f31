"""What is largest, in which order, and what is drawn: rows are compared, not computed with."""

from __future__ import annotations

from typing import Any

from .model import INDICES, INTEGERS, REALS, Attribute, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
MOST_CHOICES = (1 << 22) - 1  # as csrc/op/nvidia/written/sample.cu counts on
SOME = (
    "n > 0",
    "a row must have elements: of none there is nothing to choose",
)
DIM = Attribute(
    "dim", "int", "the dimension that rows lie along; negative ones count from the last", default=-1
)


def order(np: Any, x: Any, dim: int, descending: bool) -> Any:
    """Where sorted elements come from. Equal ones stay in their order; not-a-number is the largest."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    turned = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - turned, dim)


def top_k(np: Any, input: Any, k: float, dim: float, largest: float, sorted: float) -> Any:
    found = order(np, input, int(dim), bool(largest))
    found = np.take(found, np.arange(int(k)), axis=int(dim))
    return np.take_along_axis(input, found, int(dim)), found


def special(np: Any, random: Any, *shape: int) -> Any:
    """Numbers with ties, both zeros, infinities and not-a-number among them."""
    values = np.round(random.normal(size=shape) * 3)
    flat = values.reshape(-1)
    for i, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan)):
        if flat.size > 8:
            flat[(7 * i + 3) % flat.size] = value
    return values


def top_k_trials(np: Any, random: Any) -> Any:
    def trial(x: Any, k: int, dim: int, largest: int = 1) -> dict[str, Any]:
        return {"input": x, "k": k, "dim": dim, "largest": largest, "sorted": 1}

    yield trial(random.normal(size=(5, 40)) * 9, 4, 1)
    yield trial(special(np, random, 3, 61, 4), 7, 1, 0)
    yield trial(special(np, random, 70), 70, 0)
    yield trial(random.normal(size=(2, 5000)) * 9, 50, 1)
    yield trial(special(np, random, 2, 3000), 3000, 1, 0)
    yield trial(random.normal(size=(3, 9)), 0, 1)
    yield trial(random.normal(size=(0, 9)), 2, 1)


def sort(np: Any, input: Any, dim: float, descending: float) -> Any:
    found = order(np, input, int(dim), bool(descending))
    return np.take_along_axis(input, found, int(dim)), found


def sort_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(5, 40)) * 9, "dim": 1, "descending": 0}
    yield {"input": special(np, random, 3, 61, 4), "dim": 1, "descending": 1}
    yield {"input": special(np, random, 1), "dim": 0, "descending": 0}
    yield {"input": special(np, random, 2, 5000), "dim": -1, "descending": 1}
    yield {"input": random.normal(size=(3, 2100)) * 9, "dim": -1, "descending": 0}
    yield {"input": random.normal(size=(3, 0)), "dim": 1, "descending": 0}


def extreme(np: Any, input: Any, dim: float, keepdim: float, largest: bool) -> Any:
    found = np.take(order(np, input, int(dim), True), [0], axis=int(dim))
    if not largest:
        first = np.take(order(np, input, int(dim), False), [0], axis=int(dim))
        found = np.where(np.isnan(np.take_along_axis(input, found, int(dim))), found, first)
    return found if keepdim else np.squeeze(found, int(dim))


def extreme_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(5, 40)) * 9, "dim": 1, "keepdim": 0}
    yield {"input": np.round(random.normal(size=(3, 61, 4)) * 2), "dim": -2, "keepdim": 1}
    yield {"input": special(np, random, 4, 300), "dim": 1, "keepdim": 0}
    yield {"input": random.normal(size=(9,)), "dim": 0, "keepdim": 0}
    yield {"input": np.full((2, 3), -np.inf), "dim": 1, "keepdim": 0}
    yield {"input": random.normal(size=(2, 5003)), "dim": 1, "keepdim": 1}
    yield {"input": random.normal(size=(3, 0, 2)), "dim": 0, "keepdim": 0}


def kth_value(np: Any, input: Any, k: float, dim: float, keepdim: float) -> Any:
    found = np.take(order(np, input, int(dim), False), [int(k) - 1], axis=int(dim))
    values = np.take_along_axis(input, found, int(dim))
    return (values, found) if keepdim else (np.squeeze(values, int(dim)), np.squeeze(found, int(dim)))


def kth_value_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(5, 40)) * 9, "k": 3, "dim": -1, "keepdim": 0}
    yield {"input": special(np, random, 3, 61, 4), "k": 30, "dim": 1, "keepdim": 1}
    yield {"input": special(np, random, 20), "k": 20, "dim": 0, "keepdim": 0}
    yield {"input": random.normal(size=(2, 5000)), "k": 2500, "dim": 1, "keepdim": 0}
    yield {"input": random.normal(size=(0, 5)), "k": 1, "dim": 1, "keepdim": 0}


def random_sample(
    np: Any, probs: Any, random_val: float, topp: float, topk: float, temperature: float
) -> Any:
    rows = probs.reshape(-1, probs.shape[-1])
    found = np.zeros(rows.shape[0], np.int64)
    for i, row in enumerate(np.where(np.isnan(rows), -np.inf, rows)):
        ordered = order(np, row, 0, True)
        if random_val == 0 or topp == 0 or topk == 1 or temperature == 0:
            found[i] = ordered[0]
            continue
        weights = np.where(row == row[ordered[0]], 1.0, np.exp((row - row[ordered[0]]) / temperature))
        sums = np.cumsum(weights[ordered])
        count = min(int(topk), row.size) if topk > 0 else row.size
        limit = random_val * min(sums[count - 1], topp * sums[-1])
        found[i] = ordered[min(np.searchsorted(sums, limit), row.size - 1)]
    return found.reshape(probs.shape[:-1])


def random_sample_trials(np: Any, random: Any) -> Any:
    def trial(x: Any, random_val: float, topp: float, topk: int, temperature: float = 1.0) -> dict[str, Any]:
        return {
            "probs": x, "random_val": random_val, "topp": topp, "topk": topk, "temperature": temperature,
        }  # fmt: skip

    yield trial(random.normal(size=(3, 50)) * 2, 0.37, 0.9, 10)
    yield trial(random.normal(size=(700,)) * 2, 0.81, 0.85, 0, 0.7)
    yield trial(random.normal(size=(2, 5000)), 0.55, 1.0, 50, 1.3)
    yield trial(random.normal(size=(4000,)), 0.93, 0.95, 3000)
    yield trial(random.normal(size=(2, 3, 65)), 0.0, 0.9, 5)
    yield trial(np.round(random.normal(size=(2, 300))), 0.62, 0.8, 100, 2.0)
    yield trial(np.where(random.normal(size=(2, 40)) > 0, np.nan, random.normal(size=(2, 40))), 0.4, 0.9, 9)
    yield trial(np.full((40,), -np.inf), 0.4, 0.9, 9)
    yield trial(random.normal(size=(0, 7)), 0.4, 0.9, 3)


def extreme_operator(name: str, what: str, largest: bool) -> Operator:
    return Operator(
        name,
        f"Where the {what} element of each row is; the first one where several are. Not-a-number is taken before all others.",
        (Tensor("indices", "out", dtypes=INDICES, made_as="I64"), Tensor("input")),
        REALS,
        lambda np, input, dim, keepdim: extreme(np, input, dim, keepdim, largest),
        kind="written",
        written=Written({"indices": "< keepdim? >", "input": "< n >"}, extreme_trials, rules=(SOME,)),
        attributes=(
            DIM,
            Attribute("keepdim", "bool", "whether the dimension stays, with size 1", default=0),
        ),
        wrapped=True,
        published=False,
        ulps=0,
    )


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "RandomSample",
        "Draws a place of each row of `probs`, which are logits: with probability `softmax(probs / temperature)` among the `topk` largest, "
        "and as many of these as have `topp` of the whole probability. `random_val`, from 0 to 1, decides which. It, `topp` or `temperature` "
        "of 0, or `topk` of 1, give the first of the largest. Not-a-number is not drawn.",
        (
            Tensor("result", "out", dtypes=INTEGERS, made_as="I32"),
            Tensor("probs", python="logits"),
        ),
        FLOATING,
        random_sample,
        kind="written",
        written=Written(
            {"result": "...", "probs": "... n"},
            random_sample_trials,
            rules=(
                SOME,
                (f"n <= {MOST_CHOICES}", f"a row can have {MOST_CHOICES} elements at most"),
                (
                    "temperature >= 0 && topp >= 0 && random_val >= 0",
                    "random_val, topp and temperature must not be negative",
                ),
            ),
        ),
        attributes=(
            Attribute("random_val", "float", "from 0 to 1: what is drawn follows from it", at_compute=True),
            Attribute(
                "topp", "float", "the share of the whole probability that is drawn from", at_compute=True
            ),
            Attribute(
                "topk",
                "int",
                "from how many of the largest is drawn; 0 or less: no such limit",
                at_compute=True,
            ),
            Attribute("temperature", "float", "what logits are divided by", at_compute=True),
        ),
        header="random_sample",
        functional=True,
        ulps=0,
    ),
    Operator(
        "TopK",
        "The `k` largest, or smallest, elements of each row, in order, and their places. Of equal ones the first come first. Not-a-number is "
        "larger than all others.",
        (
            Tensor("values_output", "out"),
            Tensor("indices_output", "out", dtypes=INDICES, made_as="I32", python="indices"),
            Tensor("input"),
        ),
        REALS,
        top_k,
        kind="written",
        written=Written(
            {"values_output": "< k >", "indices_output": "< k >", "input": "< n >"},
            top_k_trials,
            rules=(("k <= n", "k must not be more than a row has elements, n"),),
        ),
        attributes=(
            Attribute("k", "size_t", "how many", repeated=True),
            Attribute("dim", "size_t", "the dimension that rows lie along", repeated=True),
            Attribute(
                "largest", "bool", "whether the largest or the smallest are wanted", repeated=True, default=1
            ),
            Attribute(
                "sorted",
                "bool",
                "whether they have to be in order; they are in either case",
                repeated=True,
                default=1,
            ),
        ),
        wrapped=True,
        header="topk",
        python="topk",
        ulps=0,
    ),
    Operator(
        "Sort",
        "The elements of each row in order, and where they come from. Equal ones stay in their order. Not-a-number is larger than all others.",
        (
            Tensor("values", "out"),
            Tensor("indices", "out", dtypes=INDICES, made_as="I64"),
            Tensor("input"),
        ),
        REALS,
        sort,
        kind="written",
        written=Written({"values": "< n >", "indices": "< n >", "input": "< n >"}, sort_trials),
        attributes=(
            DIM,
            Attribute("descending", "bool", "whether the largest comes first", default=0),
        ),
        wrapped=True,
        published=False,
        ulps=0,
    ),
    extreme_operator("Argmax", "largest", True),
    extreme_operator("Argmin", "smallest", False),
    Operator(
        "Kthvalue",
        "The `k`-th smallest element of each row, counted from 1, and where it is; of equal ones the earlier is the smaller. Not-a-number is "
        "larger than all others.",
        (
            Tensor("values", "out"),
            Tensor("indices", "out", dtypes=INDICES, made_as="I64"),
            Tensor("input"),
        ),
        REALS,
        kth_value,
        kind="written",
        written=Written(
            {"values": "< keepdim? >", "indices": "< keepdim? >", "input": "< n >"},
            kth_value_trials,
            rules=(("k >= 1 && k <= n", "k must be from 1 to the number of a row's elements, n"),),
        ),
        attributes=(
            Attribute("k", "int", "which one, from 1 on"),
            DIM,
            Attribute("keepdim", "int", "whether the dimension stays, with size 1", default=0),
        ),
        wrapped=True,
        ulps=0,
    ),
)
