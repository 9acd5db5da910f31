"""Elements that other elements, indices, name."""

from __future__ import annotations

from typing import Any

from .model import INDICES, NUMBERS, REALS, Attribute, Operator, Tensor, Written

DIM = "the dimension that indices count; negative ones count from the last"
WITHIN_INPUT = (
    "lies_within(plan, tensor::index, tensor::input, from_first(plan, tensor::input, dim))",
    "index must have as many dimensions as input, none of them larger but dim",
)


def embedding_trials(np: Any, random: Any) -> Any:
    yield {"input": random.integers(0, 7, (3, 5)), "weight": random.normal(size=(7, 19)) * 4}
    yield {"input": random.integers(0, 40, ()), "weight": random.normal(size=(40, 256)) * 4}
    yield {"input": np.zeros((2, 0, 3), np.int64), "weight": random.normal(size=(4, 5))}
    yield {"input": random.integers(0, 300, (65,)), "weight": random.normal(size=(300, 1)) * 4}


def index_select_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(3, 7, 5)) * 9, "index": random.integers(0, 7, 4), "dim": 1}
    yield {"input": random.normal(size=(6, 64)) * 9, "index": random.integers(0, 6, 70), "dim": 0}
    yield {"input": random.normal(size=(5, 300)) * 9, "index": random.integers(0, 300, 41), "dim": -1}
    yield {"input": random.normal(size=(9,)) * 9, "index": random.integers(0, 9, 3), "dim": 0}
    yield {"input": random.normal(size=(2, 3, 4, 8)) * 9, "index": random.integers(0, 3, 5), "dim": -3}
    yield {"input": random.normal(size=(4, 3)), "index": np.zeros(0, np.int64), "dim": 1}


def select_last_token_hidden_trials(np: Any, random: Any) -> Any:
    yield {"hidden_states": random.normal(size=(1, 20, 32)) * 9, "input_offsets": np.array([0, 3, 4, 20])}
    yield {"hidden_states": random.normal(size=(2, 5, 7)) * 9, "input_offsets": np.array([0, 10])}
    yield {"hidden_states": random.normal(size=(9, 130)) * 9, "input_offsets": np.array([0, 9, 9])}


def select_last_token_hidden(np: Any, hidden_states: Any, input_offsets: Any) -> Any:
    rows = hidden_states.reshape(-1, hidden_states.shape[-1])
    return rows[input_offsets[1:].astype(np.int64) - 1][None]


def gather_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(4, 9)) * 9, "index": random.integers(0, 9, (4, 6)), "dim": 1}
    yield {"input": random.normal(size=(7, 33)) * 9, "index": random.integers(0, 7, (11, 30)), "dim": 0}
    yield {"input": random.normal(size=(3, 5, 8)) * 9, "index": random.integers(0, 5, (2, 9, 7)), "dim": -2}
    yield {"input": np.array(3.5), "index": np.array(0), "dim": 0}
    yield {"input": random.normal(size=(5000,)) * 9, "index": random.integers(0, 5000, 4999), "dim": -1}
    yield {"input": random.normal(size=(2, 3)), "index": np.zeros((2, 0), np.int64), "dim": 1}


def gather(np: Any, input: Any, index: Any, dim: float) -> Any:
    if index.ndim == 0:
        return input
    axis = int(dim) % index.ndim
    inner = tuple(slice(None) if d == axis else slice(index.shape[d]) for d in range(index.ndim))
    return np.take_along_axis(input[inner], index.astype(np.int64), axis)


def take_trials(np: Any, random: Any) -> Any:
    yield {"input": random.normal(size=(4, 9)) * 9, "indices": random.integers(-36, 36, (5, 3))}
    yield {"input": random.normal(size=(3, 5, 7)) * 9, "indices": random.integers(0, 105, 300)}
    yield {"input": np.array(2.5), "indices": np.array(-1)}
    yield {"input": random.normal(size=(0, 3)), "indices": np.zeros((2, 0), np.int64)}


def distinct(np: Any, random: Any, shape: Any, size: int, axis: int) -> Any:
    """Indices of which no two along `axis` are the same."""
    moved = np.moveaxis(np.empty(shape), axis, -1).shape
    chosen = np.argsort(random.random((*moved[:-1], size)), -1)[..., : moved[-1]]
    return np.moveaxis(chosen, -1, axis)


def scatter_trials(np: Any, random: Any) -> Any:
    yield {
        "input": random.normal(size=(4, 9)) * 3, "indices": distinct(np, random, (4, 6), 9, 1),
        "updates": random.normal(size=(4, 7)) * 3, "axis": 1, "reduction": 0,
    }  # fmt: skip
    for reduction in (1, 2):
        yield {
            "input": random.normal(size=(3, 7, 5)), "indices": random.integers(0, 7, (2, 4, 5)),
            "updates": random.normal(size=(3, 4, 6)), "axis": -2, "reduction": reduction,
        }  # fmt: skip
    yield {
        "input": random.normal(size=(2, 600)), "indices": random.integers(0, 2, (9, 600)),
        "updates": random.normal(size=(9, 600)), "axis": 0, "reduction": 1,
    }  # fmt: skip
    yield {
        "input": np.array(1.5), "indices": np.array(0), "updates": np.array(2.5), "axis": -1, "reduction": 2,
    }  # fmt: skip
    yield {
        "input": random.normal(size=(3, 4)), "indices": np.zeros((0, 4), np.int64),
        "updates": random.normal(size=(0, 4)), "axis": 0, "reduction": 0,
    }  # fmt: skip


def scatter(np: Any, input: Any, indices: Any, updates: Any, axis: float, reduction: float) -> Any:
    result = input.copy()
    dim = int(axis) % max(indices.ndim, 1)
    for place in np.ndindex(indices.shape):
        to = (*place[:dim], int(indices[place]), *place[dim + 1 :]) if indices.ndim else ()
        if reduction == 0:
            result[to] = updates[place]
        elif reduction == 1:
            result[to] = result[to] + updates[place]
        else:
            result[to] = result[to] * updates[place]
    return result


def index_update_trials(np: Any, random: Any, repeated: bool) -> Any:
    def numbers(size: int, count: int) -> Any:
        return random.integers(0, size, count) if repeated else random.permutation(size)[:count]

    shapes: tuple[Any, ...] = (((4, 9), 1, 5), ((7, 600), 0, 6), ((3, 5, 8), -2, 4), ((30,), 0, 9))
    for number, (shape, dim, count) in enumerate(shapes):
        source = list(shape)
        source[dim] = count
        alpha = {"alpha": (1, -2, 3, 1)[number]} if repeated else {}
        yield {
            "input": random.normal(size=shape) * 3, "index": numbers(shape[dim], count),
            "source": random.normal(size=source) * 3, "dim": dim, **alpha,
        }  # fmt: skip
    yield {
        "input": random.normal(size=(2, 3)), "index": np.zeros(0, np.int64), "source": np.zeros((0, 3)), "dim": 0,
        **({"alpha": 1} if repeated else {}),
    }  # fmt: skip


def index_add(np: Any, input: Any, index: Any, source: Any, dim: float, alpha: float) -> Any:
    result = input.copy()
    factor = alpha if input.dtype.kind == "f" else np.array(int(alpha)).astype(input.dtype)
    to = np.moveaxis(result, int(dim), 0)
    np.add.at(to, index, np.moveaxis(source, int(dim), 0) * factor)
    return result


def index_copy(np: Any, input: Any, index: Any, source: Any, dim: float) -> Any:
    result = input.copy()
    np.moveaxis(result, int(dim), 0)[index] = np.moveaxis(source, int(dim), 0)
    return result


def index_update(name: str, doc: str, trials: Any, reference: Any, **more: Any) -> Operator:
    return Operator(
        name,
        f"`input`, with the slices of `source` {doc} along the dimension `dim`. A number that is no slice's is an error of the stream.",
        (Tensor("output", "out"), Tensor("input"), Tensor("index", dtypes=INDICES), Tensor("source")),
        reference=reference,
        kind="written",
        written=Written(
            {"output": "< n >", "input": "< n >", "index": "k", "source": "< k >"}, trials, in_place=True
        ),
        wrapped=True,
        **more,
    )


def true_places_trials(np: Any, random: Any) -> Any:
    # Without an element that is not 0 there would be places that nobody writes: all are, or those that are not counted are 0 after them.
    yield {"input": np.ones((3, 7)), "places": np.zeros(21)}
    yield {"input": random.integers(0, 2, 40000), "places": np.full(40000, 9)}
    yield {"input": np.zeros((2, 3)), "places": np.arange(6)}
    yield {"input": np.array(1), "places": np.zeros(1)}
    yield {"input": np.zeros((2, 0)), "places": np.zeros(0)}


def true_places(np: Any, places: Any, input: Any) -> Any:
    found = np.flatnonzero(input)
    result = places.copy()
    result[: len(found)] = found
    return result, np.array([len(found)])


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Embedding",
        "The rows of `weight` that `input` names. A number that is no row's is an error of the stream.",
        (Tensor("output", "out"), Tensor("input", dtypes=INDICES), Tensor("weight")),
        REALS,
        lambda np, input, weight: weight[input],
        kind="written",
        written=Written({"output": "... d", "input": "...", "weight": "v d"}, embedding_trials),
        has_workspace=False,
        functional=True,
        ulps=0,
    ),
    Operator(
        "IndexSelect",
        "The slices of `input` along `dim` that `index` names. A number that is no slice's is an error of the stream.",
        (Tensor("output", "out"), Tensor("input"), Tensor("index", dtypes=INDICES)),
        REALS,
        lambda np, input, index, dim: np.take(input, index.astype(np.int64), int(dim)),
        kind="written",
        written=Written({"output": "< k >", "input": "< n >", "index": "k"}, index_select_trials),
        attributes=(Attribute("dim", "int", DIM),),
        header="index_select",
        published=False,
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "SelectLastTokenHidden",
        "The rows of the last token of each sequence: sequence `i` is rows `input_offsets[i]` to `input_offsets[i + 1]` of `hidden_states`. "
        "An offset that names no row is an error of the stream.",
        (Tensor("output", "out"), Tensor("hidden_states"), Tensor("input_offsets", dtypes=INDICES)),
        REALS,
        select_last_token_hidden,
        kind="written",
        written=Written(
            {"output": "1 n d", "hidden_states": "... d", "input_offsets": "m"},
            select_last_token_hidden_trials,
            rules=(("m == n + 1", "input_offsets has one element more than there are sequences, n"),),
        ),
        has_workspace=False,
        header="select_last_token_hidden",
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "Gather",
        "The elements of `input` at the places of `index`'s elements, but in dimension `dim`, where `index` says which. A number that is "
        "out of range is an error of the stream.",
        (Tensor("output", "out"), Tensor("input"), Tensor("index", dtypes=INDICES)),
        REALS,
        gather,
        kind="written",
        written=Written(
            {"output": "...", "input": "*", "index": "..."},
            gather_trials,
            rules=(
                ("has_dim(plan, tensor::input, dim)", "dim must be a dimension of input"),
                WITHIN_INPUT,
            ),
        ),
        attributes=(Attribute("dim", "int", DIM),),
        published=False,
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "Take",
        "The elements of `input`, counted through all of its dimensions, that `indices` names; negative ones count from the last. A "
        "number that is out of range is an error of the stream.",
        (Tensor("output", "out"), Tensor("input"), Tensor("indices", dtypes=INDICES, python="index")),
        REALS,
        lambda np, input, indices: input.reshape(-1)[indices],
        kind="written",
        written=Written({"output": "...", "input": "*", "indices": "..."}, take_trials),
        ulps=0,
    ),
    Operator(
        "Scatter",
        "`input`, with the elements of `updates` at their places, but in dimension `axis`, where `indices` says which; `reduction` 0: "
        "written over what is there, 1: added to it, 2: multiplied with it. On a GPU updates of one element come in any order. A number "
        "that is out of range is an error of the stream.",
        (
            Tensor("output", "out"),
            Tensor("input"),
            Tensor("indices", dtypes=INDICES),
            Tensor("updates"),
        ),
        NUMBERS,
        scatter,
        kind="written",
        written=Written(
            {"output": "...", "input": "...", "indices": "*", "updates": "*"},
            scatter_trials,
            rules=(
                ("has_dim(plan, tensor::input, axis)", "axis must be a dimension of input"),
                (
                    "lies_within(plan, tensor::indices, tensor::input, from_first(plan, tensor::input, axis))",
                    "indices must have as many dimensions as input, none of them larger but axis",
                ),
                (
                    "lies_within(plan, tensor::indices, tensor::updates)",
                    "indices must have as many dimensions as updates, none of them larger",
                ),
                ("reduction >= 0 && reduction <= 2", "reduction must be 0, 1 or 2"),
            ),
            in_place=True,
        ),
        attributes=(
            Attribute("axis", "int", DIM),
            Attribute("reduction", "int", "0: written over, 1: added, 2: multiplied"),
        ),
        wrapped=True,
        ulps=8,
        narrow_ulps=8,
    ),
    index_update(
        "IndexAdd",
        "that `index` names, times `alpha`, added",
        lambda np, random: index_update_trials(np, random, True),
        index_add,
        dtypes=NUMBERS,
        attributes=(
            Attribute("dim", "int64_t", DIM, after="input"),
            Attribute("alpha", "float", "the factor of source; of integers without its fraction", default=1),
        ),
        header="index_add",
        ulps=8,
        narrow_ulps=8,
    ),
    index_update(
        "IndexCopy",
        "in place of those that `index` names",
        lambda np, random: index_update_trials(np, random, False),
        index_copy,
        dtypes=REALS,
        attributes=(Attribute("dim", "int64_t", DIM, after="input"),),
        header="index_copy",
        ulps=0,
    ),
    Operator(
        "TruePlaces",
        "The numbers of the elements of `input` that are not 0, counted through all of its dimensions: the first `count` of `places`; what "
        "lies behind them stays as it is.",
        (
            Tensor("places", "inout", dtypes=("I64",)),
            Tensor("count", "out", dtypes=("I64",)),
            Tensor("input"),
        ),
        REALS,
        true_places,
        kind="written",
        written=Written(
            {"places": "n", "count": "1", "input": "*"},
            true_places_trials,
            rules=(
                ("has_elements(plan, tensor::input, n)", "places, of n, has an element for each of input"),
            ),
        ),
        header="true_places",
        published=False,
        wrapped=True,
        ulps=0,
    ),
)
