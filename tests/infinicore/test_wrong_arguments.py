"""Functions and methods that are given something else than their signatures say: which argument it was, and what was expected."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

X = infinicore.ones([2, 3])
IMAGE, KERNEL = infinicore.ones([1, 1, 4, 4]), infinicore.ones([1, 1, 2, 2])
WHOLE = X.to(infinicore.int32)
INDEX = infinicore.arange(2)

METHODS: list[tuple[Callable[[], object], str]] = [
    (lambda: X.narrow(0, "a", 2), "narrow(): start must be an integer, not str"),
    (lambda: X.narrow("a", 0, 2), "narrow(): dim must be an integer, not str"),
    (lambda: X.narrow(0, 0, 1.5), "narrow(): length must be an integer, not float"),
    (lambda: X.view("a"), "view(): shape must be integers, one by one or in one list, not str"),
    (lambda: X.view(X), "view(): shape must be integers, one by one or in one list, not Tensor"),
    (lambda: X.reshape(2, 1.5), "reshape(): shape must be integers, one by one or in one list, not float"),
    (lambda: X.permute("a", 0), "permute(): dims must be integers, one by one or in one list, not str"),
    (lambda: X.transpose(0, "a"), "transpose(): dim1 must be an integer, not str"),
    (lambda: X.as_strided(3, [1]), "size must be a list of integers, not int"),
    (lambda: X.as_strided("3", [1]), "size must be a list of integers, not str"),
    (lambda: X.as_strided([2], [1.5]), "stride[0] must be an integer, not float"),
    (lambda: X.as_strided([2], [1], "a"), "as_strided(): storage_offset must be an integer, not str"),
    (lambda: X.squeeze("a"), "squeeze(): dim must be an integer, not str"),
    (lambda: X.unsqueeze(X), "unsqueeze(): dim must be an integer, not Tensor"),
    (
        lambda: X.broadcast_to("a"),
        "broadcast_to(): size must be integers, one by one or in one list, not str",
    ),
    (lambda: X.size("a"), "size(): dim must be an integer, not str"),
    (lambda: X.stride(X), "stride(): dim must be an integer, not a Tensor of shape [2, 3]"),
    (
        lambda: X["a":2],
        "a slice of a tensor has integers or nothing on both sides of the colon, not 'a' and 2",
    ),  # type: ignore[misc]
    (lambda: X @ np.ones([3, 2]), "make a tensor of it first, infinicore.from_numpy(array)"),
    (lambda: np.ones([3, 2]) @ X, "make a tensor of it first, infinicore.from_numpy(array)"),
]

FUNCTIONS: list[tuple[Callable[[], object], str]] = [
    (lambda: infinicore.topk(X, "a"), "topk(): k must be an integer, not str"),
    (lambda: infinicore.topk(X, 1, "a"), "topk(): dim must be an integer, not str"),
    (lambda: infinicore.argmax(X, "a"), "argmax(): dim must be an integer, not str"),
    (lambda: infinicore.kthvalue(X, "a"), "kthvalue(): k must be an integer, not str"),
    (lambda: infinicore.sort(X, descending="a"), "sort(): descending must be True or False, not str"),
    (lambda: infinicore.topksoftmax(X, 1, None), "topksoftmax(): norm must be True or False, not NoneType"),
    (lambda: infinicore.cat(3), "cat(): tensors must be a list of Tensors, not int"),
    (lambda: infinicore.cat([X, 3]), "cat(): tensors must be a list of Tensors, not a list of Tensor and int"),
    (lambda: infinicore.cat([X, X], "a"), "cat(): dim must be an integer, not str"),
    (lambda: infinicore.cat(X, X), "cat(): dim must be an integer, not Tensor"),
    (lambda: infinicore.cat([X, X], out=3), "cat(): out must be a Tensor, not int"),
    (lambda: infinicore.stack([X, 3]), "stack(): tensors must be a list of Tensors, not a list of Tensor and int"),
    (lambda: infinicore.split(X, 1.5), "split_size_or_sections must be an integer or a list of integers, not float"),
    (lambda: infinicore.chunk(X, "a"), "chunk(): chunks must be an integer, not str"),
    (lambda: infinicore.pad(X, 3), "pad(): pad must be a list of integers, not int"),
    (lambda: infinicore.pad(X, [1, "a"]), "pad(): pad must be a list of integers, not a list of int and str"),
    (lambda: infinicore.block_diag(X, 3), "block_diag(): tensors must be a Tensor, not int"),
    (lambda: infinicore.index_select(X, "a", INDEX), "index_select(): dim must be an integer, not str"),
    (lambda: infinicore.scatter(X, 0, 3, 3), "scatter(): index must be a Tensor, not int"),
    (lambda: infinicore.scatter_add(X, 0, X, X), "scatter_add(): index has type float32; possible are int32, int64"),
    (lambda: infinicore.scatter(X, 0, INDEX, "a"), "scatter(): src must be a Tensor or a number, not str"),
    (lambda: infinicore.masked_select(X, 3), "masked_select(): mask must be a Tensor, not int"),
    (lambda: functional.one_hot(INDEX, "a"), "one_hot(): num_classes must be an integer, not str"),
    (lambda: functional.one_hot(X, 3), "one_hot(): input has type float32; possible are int32, int64"),
    (lambda: infinicore.addmm(3, X, X.T), "addmm(): input must be a Tensor, not int"),
    (lambda: infinicore.addmm(X, X, X.T, beta="a"), "addmm(): beta must be a number, not str"),
    (lambda: infinicore.kron(X, 3), "kron(): other must be a Tensor, not int"),
    (lambda: infinicore.narrow(3, 0, 0, 1), "narrow(): input must be a Tensor, not int"),
    (lambda: infinicore.nan_to_num(X, "a"), "nan_to_num(): nan must be a number or None, not str"),
    (lambda: infinicore.mxfp4_dequantize(X, X, np.float16), "dtype was expected: infinicore.float16 is one"),
    (lambda: infinicore.topk(X), "topk() missing 1 required positional argument: 'k'"),
    (lambda: infinicore.diff(X, foo=1), "diff() got an unexpected keyword argument 'foo'"),
    (lambda: WHOLE @ WHOLE.T, "matmul(): input is int32; possible are float16, float32, float64, bfloat16"),
    (lambda: infinicore.mm(WHOLE, WHOLE.T), "mm(): input is int32; possible are"),
    (lambda: infinicore.addmm(WHOLE[:1, :1], WHOLE, WHOLE.T), "addmm(): mat1 is int32; possible are"),
    (lambda: functional.linear(WHOLE, WHOLE), "linear(): input is int32; possible are"),
    (lambda: functional.linear(X, WHOLE), "linear(): weight is int32, but input is float32"),
    (lambda: functional.linear(3, X), "linear(): input must be a Tensor, not int"),
    (lambda: functional.linear(X, X, "a"), "linear(): bias must be a Tensor or None, not str"),
    (lambda: functional.linear(X, X, alpha="a"), "linear(): alpha must be a number, not str"),
    (lambda: functional.linear(X, X, out=3), "linear(): out must be a Tensor or None, not int"),
    (lambda: functional.conv2d(IMAGE, 3), "conv2d(): weight must be a Tensor, not int"),
    (lambda: functional.conv2d(IMAGE, KERNEL, groups="a"), "conv2d(): groups must be an integer, not str"),
    (lambda: functional.conv2d(IMAGE, KERNEL, None, 1.5), "stride must be an integer or a list of integers, not float"),
    (lambda: functional.max_pool2d(3, 2), "max_pool2d(): input must be a Tensor, not int"),
    (lambda: functional.interpolate(IMAGE, scale_factor="a"), "scale_factor must be a number, a list of numbers or None"),
    (lambda: functional.group_norm(IMAGE, "a"), "group_norm(): num_groups must be an integer, not str"),
    (lambda: functional.flash_attention(3, X, X), "flash_attention(): query must be a Tensor, not int"),
    (lambda: functional.flash_attention(IMAGE, IMAGE, IMAGE, is_causal="a"), "is_causal must be True or False, not str"),
    (lambda: functional.scaled_dot_product_attention(X, 3, X), "scaled_dot_product_attention(): key must be a Tensor"),
]  # fmt: skip

SHAPES: list[tuple[Callable[[], object], str]] = [
    (lambda: infinicore.mm(X, X), "mm(): input has shape [2, 3] and mat2 [2, 3]: 3 columns and 2 rows"),
    (lambda: infinicore.addmm(X, X, X), "addmm(): mat1 has shape [2, 3] and mat2 [2, 3]: 3 columns and 2 rows"),
    (lambda: functional.linear(X, X, X), "linear(): bias has shape [2, 3], which cannot be repeated to out of shape [2, 2]"),
    (lambda: functional.flash_attention(X, X, X), "flash_attention(): query has shape [2, 3]; at least 4 dimensions were"),
    (lambda: functional.scaled_dot_product_attention(X, X, X), "scaled_dot_product_attention(): query has shape [2, 3]"),
    (lambda: functional.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, X), "there are no masks"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), METHODS + FUNCTIONS)
def test_what_is_not_as_the_signature_says_is_named(call: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(("call", "words"), SHAPES)
def test_shapes_that_do_not_fit_are_said_of_the_function_that_was_called(
    call: Callable[[], object], words: str
) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("other", ["a", [1], None])
def test_what_is_no_number_cannot_be_added_in_place(other: Any) -> None:
    x = infinicore.ones([2])
    with pytest.raises(TypeError, match="unsupported operand"):
        x += other
    assert x.tolist() == [1, 1]


def offered() -> list[Any]:
    """Every function whose first parameter is a tensor."""
    found: dict[Any, None] = {}
    for module in (infinicore, functional):
        for name in module.__all__:
            function = getattr(module, name)
            if not inspect.isroutine(function):
                continue
            parameters = list(inspect.signature(function).parameters.values())
            if parameters and (inspect.isbuiltin(function) or parameters[0].annotation == "Tensor"):
                found[function] = None
    return list(found)


@pytest.mark.parametrize("function", offered(), ids=lambda function: function.__name__)
def test_every_function_names_a_parameter_that_was_given_no_tensor(function: Any) -> None:
    needed = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.default is inspect.Parameter.empty
    ]
    nothing = {each.name: object() for each in needed if each.kind is inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(
        TypeError, match=rf"^{function.__name__}\(\): \w+ (must be|is written, and must be) a Tensor"
    ):
        function(*[object()] * (len(needed) - len(nothing)), **nothing)


def test_functions_are_known_by_the_names_that_they_are_offered_under() -> None:
    for function in (infinicore.diff, infinicore.concat, functional.pad, functional.conv2d, infinicore.topk):
        assert pickle.loads(pickle.dumps(function)) is function
    assert infinicore.pad is functional.pad
    assert str(inspect.signature(infinicore.chunk)).startswith("(input: 'Tensor', chunks: 'int'")


class _Uncalibrated:
    def __float__(self) -> float:
        raise ValueError("the sensor is not calibrated")


def test_what_an_argument_itself_raises_stays() -> None:
    with pytest.raises(ValueError, match="the sensor is not calibrated"):
        functional.leaky_relu(infinicore.ones([2]), _Uncalibrated())


def test_numbers_too_long_to_print_and_pairs_that_are_none() -> None:
    with pytest.raises(OverflowError, match=r"mul_scalar\(\): alpha is too large"):
        infinicore.mul_scalar(infinicore.ones([2]), 10**5000)
    with pytest.raises(TypeError, match=r"cummax\(\): out must be a pair of Tensors or None, not generator"):
        infinicore.cummax(infinicore.ones([2, 2]), 0, out=(each for each in ()))
