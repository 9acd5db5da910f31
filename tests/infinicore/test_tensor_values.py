"""Making tensors, copying between types, strides and devices, and reading them out."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tensor_support import SHAPES, TYPES, keep_busy, new_place, numbers, same, strided

import infinicore
from infinicore import _core

quick = settings(max_examples=60, deadline=None)


def test_every_element_type_has_its_name_and_size() -> None:
    for each in _core.dtypes:
        assert getattr(infinicore, each.name) is each
        assert repr(each) == f"infinicore.{each.name}"
        assert _core.dtype_by_number(each.number) is each
        if each.name not in ("complex16", "complex32", "byte"):
            there = infinicore.to_numpy_dtype(each)
            assert there.itemsize == each.itemsize
            assert infinicore.from_numpy_dtype(there) is each
    assert infinicore.float is infinicore.float32
    assert infinicore.chalf is infinicore.complex32
    with pytest.raises(TypeError, match=r"no type for infinicore\.complex32"):
        infinicore.to_numpy_dtype(infinicore.complex32)
    with pytest.raises(TypeError, match="no element type"):
        infinicore.from_numpy_dtype("U3")


@quick
@given(SHAPES, TYPES)
def test_arrays_go_in_and_come_out(shape: list[int], dtype: str) -> None:
    array = numbers(shape, dtype)
    tensor = infinicore.from_numpy(array)
    array_before = array.copy()
    array += 1 if dtype != "bool" else False  # from_numpy copies
    same(tensor, array_before)
    assert tensor.dtype is infinicore.from_numpy_dtype(dtype)
    assert tensor.is_contiguous()
    assert tensor.numel() == array.size


@quick
@given(strided("int32"), TYPES)
def test_copies_convert_and_broadcast_whatever_the_strides(pair: Any, dtype: str) -> None:
    tensor, array = pair
    wanted = infinicore.from_numpy_dtype(dtype)
    same(tensor.to(wanted), array.astype(dtype))
    target = infinicore.zeros([2, *array.shape], dtype=wanted)
    spread = target.permute(list(reversed(range(target.ndim))))
    other = infinicore.from_numpy(np.broadcast_to(array, target.shape).T.copy())
    spread.copy_(other)
    same(target, np.broadcast_to(array, target.shape).astype(dtype))


@quick
@given(strided(), strided())
def test_copies_between_places_are_in_order(first: Any, second: Any) -> None:
    tensor, array = first
    place = new_place()
    there = tensor.to(device=place)
    assert there._place is place
    for _ in range(3):
        there = there + 1
    back = there.to(device=tensor._place, dtype=infinicore.float64)
    same(back, array.astype("float64") + 3)
    with_strides = infinicore.zeros([*array.shape, 2], device=place)[..., 1]
    with_strides.copy_(tensor)
    same(with_strides, array)


def test_narrow_floats_are_rounded_once() -> None:
    import ml_dtypes

    array = np.linspace(-3, 3, 50).astype("float32")
    same(infinicore.from_numpy(array).to(infinicore.bfloat16), array.astype(ml_dtypes.bfloat16))
    same(infinicore.from_numpy(array, dtype=infinicore.float8), array.astype(ml_dtypes.float8_e4m3fn))


def test_functions_that_make_tensors() -> None:
    same(infinicore.zeros([2, 3]), np.zeros([2, 3], "f4"))
    same(infinicore.ones([3], dtype=infinicore.uint8), np.ones(3, "u1"))
    same(infinicore.full([2], 7), np.full(2, 7))
    same(infinicore.arange(2, 9, 3), np.arange(2, 9, 3))
    same(infinicore.arange(0.0, 1, 0.25), np.arange(0, 1, 0.25, "f4"))
    same(infinicore.from_list([[1, 2], [3, 4]], dtype=infinicore.int16), np.array([[1, 2], [3, 4]], "i2"))
    like = infinicore.empty_like(infinicore.zeros([2, 5], dtype=infinicore.int8))
    assert (like.shape, like.dtype) == ([2, 5], infinicore.int8)
    spread = infinicore.strided_empty([2, 3], [1, 4], dtype=infinicore.int64)
    assert spread.stride() == [1, 4]
    spread.copy_(infinicore.arange(6).view(2, 3))
    same(spread, np.arange(6).reshape(2, 3))
    same(infinicore.broadcast_to(infinicore.ones([1, 2]), [3, 2]), np.ones([3, 2], "f4"))
    pinned = infinicore.ones([4], device="cpu", pin_memory=True)
    assert pinned.is_pinned()
    same(pinned, np.ones(4, "f4"))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: infinicore.from_numpy([1]), TypeError, "not list"),
        (lambda: infinicore.from_list([1], dtype=None), TypeError, "needs dtype="),
        (lambda: infinicore.from_blob(0, [1]), ValueError, "data_ptr is 0"),
        (lambda: infinicore.empty([1], dtype="float32"), TypeError, "infinicore.float32"),
        (lambda: infinicore.full([1], 300, dtype=infinicore.uint8), OverflowError, "0 to 255"),
        (lambda: infinicore.full([1], 0.5, dtype=infinicore.int32), TypeError, "is a float"),
        (lambda: infinicore.zeros([1]).copy_([1]), TypeError, "takes a Tensor"),
        (lambda: infinicore.zeros([2]).copy_(infinicore.zeros([3])), ValueError, "cannot be repeated"),
        (lambda: infinicore.zeros([2]).to(infinicore.complex64), TypeError, "complex"),
        (lambda: infinicore.from_numpy(np.zeros(2, ">f4")), TypeError, "convert the array"),
        (lambda: infinicore.arange(0, 1, 0), ValueError, "step"),
        (lambda: infinicore.strided_empty([2], [-1]), ValueError, "not negative"),
        (
            lambda: infinicore.zeros([2]).to(1.5),
            TypeError,
            r"to\(\): 1.5 is neither a device.* nor an infinicore.dtype",
        ),
        (
            lambda: infinicore.zeros([2]).to(np.float16),
            TypeError,
            "nor an infinicore.dtype; infinicore.float16 is one",
        ),
        (lambda: infinicore.zeros([2]).to("int32"), TypeError, "infinicore.int32 is one"),
        (lambda: infinicore.zeros([2]).to(dtype=3), TypeError, "dtype must be one of infinicore's"),
        (
            lambda: infinicore.tensor([1, 2]),
            TypeError,
            r"infinicore.from_list\(\[1.0, 2.0\], dtype=infinicore.float32\)",
        ),  # type: ignore[operator]
        (lambda: infinicore.from_list([1]), TypeError, r"as in infinicore.from_list\(\[1.0, 2.0\], dtype="),
        (
            lambda: infinicore.from_list([1], dtype=3),
            TypeError,
            r"from_list\(\): dtype is 3; an infinicore.dtype was",
        ),
        (lambda: infinicore.from_list([1], dtype=np.int8), TypeError, "infinicore.int8 is one"),
        (
            lambda: infinicore.from_list(3, dtype=infinicore.int8),
            TypeError,
            "data must be a list or a tuple, not int",
        ),
        (
            lambda: infinicore.from_list([[1], [1, 2]], dtype=infinicore.int8),
            ValueError,
            "data .* differ in length",
        ),
        (
            lambda: infinicore.from_list(["a"], dtype=infinicore.float32),
            ValueError,
            r"from_list\(\): data cannot",
        ),
        (
            lambda: infinicore.from_list([300], dtype=infinicore.uint8),
            OverflowError,
            r"from_list\(\): data cannot",
        ),
        (lambda: infinicore.from_list_by_numpy(["a"]), TypeError, "nested lists of numbers"),
        (lambda: infinicore.from_numpy(np.zeros(2), dtype=3), TypeError, r"from_numpy\(\): dtype is 3"),
        (lambda: infinicore.from_torch(3), TypeError, r"from_torch\(\): torch_tensor must be .* not int"),
        (lambda: infinicore.from_dlpack(3), TypeError, r"from_dlpack\(\): source must have __dlpack__"),
        (lambda: infinicore.empty([1], dtype=3), TypeError, "dtype must be one of infinicore's"),
        (lambda: infinicore.empty([1], dtype=3, pin_memory=True), TypeError, "dtype is 3"),
        (lambda: infinicore.zeros([1], dtype=3), TypeError, r"zeros\(\): dtype is 3"),
        (lambda: infinicore.ones([1], dtype=[3]), TypeError, r"ones\(\): dtype is \[3\]"),
        (lambda: infinicore.full([1], 1, dtype=3), TypeError, r"full\(\): dtype is 3"),
        (lambda: infinicore.arange(3, dtype=3), TypeError, r"arange\(\): dtype is 3"),
        (lambda: infinicore.arange("a"), TypeError, r"arange\(\): start must be a number, not str"),
        (
            lambda: infinicore.empty_like(infinicore.zeros([1]), dtype=3),
            TypeError,
            "dtype must be one of infinicore's",
        ),
        (lambda: infinicore.empty_like(3), TypeError, r"empty_like\(\): input must be a Tensor, not int"),
        (lambda: infinicore.strided_empty([2], [1], dtype=3), TypeError, r"strided_empty\(\): dtype is 3"),
        (lambda: infinicore.from_blob(1, [2], dtype=3), TypeError, r"from_blob\(\): dtype is 3"),
        (lambda: infinicore.to_numpy_dtype(3), TypeError, r"to_numpy_dtype\(\): dtype is 3"),
        (lambda: infinicore.from_numpy_dtype(3), TypeError, "3 is no type of NumPy's"),
        (lambda: infinicore.zeros("a"), TypeError, r"zeros\(\): size must be integers, .* not str"),
        (lambda: infinicore.zeros([2], 3), TypeError, r"zeros\(\): size must be integers, .* not list"),
        (lambda: infinicore.zeros([2, 2.5]), TypeError, r"size\[1\] must be an integer, not float"),
        (
            lambda: infinicore.zeros([2**70]),
            OverflowError,
            r"size\[0\] is 1180591620717411303424, which is too large",
        ),
        (lambda: infinicore.full([2], "a"), TypeError, r"full\(\): fill_value must be a number, not str"),
        (lambda: infinicore.full("a", 1), TypeError, r"full\(\): size must be a list of integers, not str"),
        (lambda: infinicore.zeros([2]).fill_("a"), TypeError, "a number was expected .* not str"),
        (lambda: infinicore.zeros([2]).fill_(None), TypeError, "a number was expected .* not NoneType"),
        (lambda: infinicore.zeros([2]).fill_([1]), TypeError, "a number was expected .* not list"),
        (
            lambda: infinicore.zeros([2]).copy_(infinicore.zeros([3])),
            ValueError,
            r"copy_\(\): src has shape \[3\]",
        ),
    ],
)
def test_bad_input_is_refused_with_words(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_memory_shared_with_numpy_is_ready_when_a_call_returns() -> None:
    array = np.zeros(100_000, "f4")
    tensor = infinicore.from_numpy(array, copy=False)
    for number in range(1, 4):
        keep_busy(tensor._place)
        infinicore.add(tensor, 1.0, out=tensor)
        assert array[0] == number == array[-1]
    with pytest.raises(ValueError, match="read-only"):
        infinicore.from_numpy(np.broadcast_to(np.zeros(1), 3), copy=False)


def test_numpy_shares_and_later_calls_wait() -> None:
    tensor = infinicore.zeros([100_000])
    array = tensor.numpy()
    view = tensor[1:]
    keep_busy(tensor._place)
    infinicore.add(view, 2.0, out=view)
    assert array[0] == 0
    assert array[-1] == 2
    del tensor, view
    gc.collect()
    assert array[-1] == 2


def test_blobs_and_dlpack_are_the_same_memory() -> None:
    array = numbers([3, 4])
    blob = infinicore.from_blob(array.ctypes.data, [3, 4])
    same(blob, array)
    backwards = infinicore.strided_from_blob(array.ctypes.data + 4 * 11, [12], [-1])
    same(backwards, array.reshape(-1)[::-1])
    taken = infinicore.from_dlpack(array[:, 1:])
    taken += 1
    same(taken, array[:, 1:])
    assert array[0, 1] == 2
    tensor = infinicore.from_numpy(numbers([2, 3], "int16")).T
    keep_busy(tensor._place)
    tensor.fill_(4)
    there = np.from_dlpack(tensor)
    np.testing.assert_array_equal(there, np.full([3, 2], 4, "i2"))
    keep_busy(tensor._place)
    tensor.fill_(5)
    np.testing.assert_array_equal(there, np.full([3, 2], 5, "i2"))
    again = infinicore.from_dlpack(tensor)
    assert again.data_ptr() == tensor.data_ptr()
    assert tensor.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="stream"):
        tensor.__dlpack__(stream=1)


def test_unused_and_used_capsules_let_go_of_the_tensor() -> None:
    tensor = infinicore.ones([3])
    gone = weakref.ref(tensor)
    capsule = tensor.__dlpack__()
    array = np.from_dlpack(tensor)
    del tensor
    assert gone() is not None
    del capsule
    assert gone() is not None
    del array
    assert gone() is None


def test_tensors_are_freed_at_once_and_their_memory_is_used_again() -> None:
    place = new_place()
    infinicore.zeros([1000], device=place)
    place.sync()
    before = place.pool.statistics
    for _ in range(1000):
        x = infinicore.zeros([1000], device=place)
        y = x + x
        del x
        y[3:].to(infinicore.int32)
        del y
    place.sync()
    after = place.pool.statistics
    assert after.live_blocks == before.live_blocks
    assert after.reserved <= before.reserved * 4


def test_reading_waits() -> None:
    for read in (infinicore.Tensor.tolist, infinicore.Tensor.item, infinicore.Tensor.numpy, repr, float):
        tensor = infinicore.zeros([1])
        tensor._place.sync()
        keep_busy(tensor._place)
        tensor += 3.0
        assert "3" in str(read(tensor))


def test_copying_and_pickling() -> None:
    tensor = infinicore.from_numpy(numbers([3, 4]), dtype=infinicore.bfloat16).T
    shallow, deep = copy.copy(tensor), copy.deepcopy(tensor)
    restored = pickle.loads(pickle.dumps(tensor))
    tensor[0] = 9
    assert shallow.tolist() == tensor.tolist()
    for each in (deep, restored):
        assert each.dtype is infinicore.bfloat16
        assert each.tolist() == numbers([3, 4]).T.tolist()
    assert pickle.loads(pickle.dumps(infinicore.half)) is infinicore.float16


def test_printing() -> None:
    assert repr(infinicore.from_list([1.5, -2.0], dtype=infinicore.float16)) == (
        "tensor([ 1.5, -2. ], shape=[2], dtype=infinicore.float16, device='cpu:0')"
    )
    assert "..." in repr(infinicore.zeros([2000]))
    assert "shape=[0, 3]" in repr(infinicore.zeros([0, 3]))
    tensor = infinicore.full([1], 1 / 3)
    assert "[0.3333]" in repr(tensor)
    with infinicore.printoptions(precision=2):
        assert "[0.33]" in repr(tensor)
    assert "[0.3333]" in repr(tensor)
    with infinicore.printoptions(sci_mode=True):
        assert "3.3333e-01" in repr(tensor)
    assert "e+10" in repr(infinicore.full([1], 1e10))
    with pytest.raises(ValueError, match="precision"):
        infinicore.set_printoptions(precision=-1)


def test_threads_make_and_use_tensors_at_once() -> None:
    shared = infinicore.from_numpy(numbers([64]))
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            for _ in range(100):
                mine = shared[seed:].to(infinicore.float64) + seed
                if mine.tolist() != (numbers([64])[seed:].astype("f8") + seed).tolist():
                    wrong.append(seed)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_tensors_of_a_closed_place_say_so() -> None:
    place = new_place()
    tensor = infinicore.ones([2], device=place)
    place.close()
    with pytest.raises(RuntimeError, match="closed"):
        _ = tensor + tensor
    with pytest.raises(RuntimeError, match="closed"):
        tensor.tolist()
    assert "closed" in repr(tensor)
