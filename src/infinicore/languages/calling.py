"""One call of an operator written in Python: what is checked, made and copied around the function that launches its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._views import broadcast
from ..creation import full
from ..dtype import bool as bool_dtype
from ..tensor import Tensor
from .kernels import kernels_on

if TYPE_CHECKING:
    from infiniop.schema import Attribute
    from infiniop.schema import Tensor as Operand

    from .registering import PythonOperator

Shape = tuple[int, ...]


class Plan:
    """What is known of a call before its tensors: which function, and what it is given."""

    __slots__ = ("_function", "_has_kernels", "_must_wait", "dtype", "shapes")

    def __init__(
        self,
        function: Callable[..., object],
        has_kernels: bool,
        dtype: _core.dtype,
        shapes: list[Shape],
        must_wait: bool,
    ) -> None:
        self._function = function
        self._has_kernels = has_kernels
        self._must_wait = must_wait
        self.dtype = dtype
        self.shapes = shapes

    def call(
        self,
        place: _core.Place,
        outs: Sequence[Tensor],
        inputs: Sequence[Tensor | None],
        values: dict[str, Any],
    ) -> None:
        before = _core.set_current(place)  # for tensors that the function makes
        try:
            if self._has_kernels:
                with kernels_on(place):
                    self._function(*outs, *inputs, **values)
            else:
                self._function(*outs, *inputs, **values)
        except ModuleNotFoundError as error:
            if error.name != "triton":
                raise
            raise ModuleNotFoundError(
                f"{error}. A function that only calls operators needs none: give devices=() to infinicore.operator(), and register "
                f"the function with .on({place.stream.device.type!r})",
                name="triton",
            ) from None
        finally:
            _core.set_current(before)
        if self._must_wait:
            place.sync()


class Call:
    """One call, all of it checked."""

    def __init__(
        self, operator: PythonOperator, args: tuple[Any, ...], out: Any, named: dict[str, Any]
    ) -> None:
        self.operator = operator
        self.name = operator.__name__
        self.place: _core.Place
        self.dtype: _core.dtype
        self._read(args, out, named)

    def run(self, seen: bytes | None = None) -> Tensor | tuple[Tensor, ...]:
        """With the signature of the inputs as `seen` a plan is kept for the next call, where nothing stands against it."""
        place = self.place
        if place.is_closed:
            place.allocate(1)  # raises what all calls raise then
        if not place.is_recording:
            return self._run(seen)
        before = place.recorded_steps
        try:
            return self._run(None)
        except BaseException:
            place.drop_steps(before)  # a call that fails leaves the recording as it was
            raise

    def _run(self, seen: bytes | None) -> Tensor | tuple[Tensor, ...]:
        shapes = self._shapes()
        function, has_kernels = self.operator.function_for(self.place.stream.device.type)
        outs = self._find_outputs(shapes)
        if any(out.numel() for out in outs):
            inputs = [self._ready(tensor, shapes[0]) for tensor in self.inputs]
            targets = [self._target(out, inputs) for out in outs]
            plan = Plan(function, has_kernels, outs[0].dtype, shapes, self._must_wait(outs))
            plan.call(self.place, targets, inputs, self.values)
            as_given = zip((*inputs, *targets), (*self.inputs, *outs), strict=True)
            if seen is not None and all(ready is tensor for ready, tensor in as_given):
                self.operator.keep(seen, plan)
            for out, target in zip(outs, targets, strict=True):
                if target is not out:
                    out.copy_(target)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _must_wait(self, outs: list[Tensor]) -> bool:
        """NumPy and others, who have the memory, too, know nothing of streams."""
        if self.place.stream.device.type != "cpu" or self.place.is_recording:
            return False
        return any(tensor is not None and tensor._is_shared for tensor in (*outs, *self.inputs))

    # ---- arguments

    def _read(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> None:
        operator, parameters = self.operator, self.operator.parameters
        if len(args) > len(parameters):
            raise TypeError(f"{self.name}() takes {len(parameters)} arguments by position, not {len(args)}")
        given = dict(zip(parameters, args, strict=False))
        several = isinstance(out, (tuple, list))
        self.outs: list[Any] = [*out] if several else [out, *[None] * (len(operator.outputs) - 1)]
        if len(self.outs) != len(operator.outputs):
            raise TypeError(
                f"{self.name}(): out has {len(self.outs)} tensors, but there are {len(operator.outputs)} outputs"
            )
        for name, value in named.items():
            if name in given:
                raise TypeError(f"{self.name}() got the argument {name!r} twice")
            if name in parameters:
                given[name] = value
            elif name in operator.outputs[1:]:
                self.outs[operator.outputs.index(name)] = value
            else:
                raise TypeError(
                    f"{self.name}() has no argument {name!r}; it has {', '.join(parameters)} and out"
                )
        self._read_inputs(given)
        self.values = {
            each.name: number(operator, each, given.get(each.name)) for each in operator.attributes
        }

    def _read_inputs(self, given: dict[str, Any]) -> None:
        first = next(
            (given[e.name] for e in self.operator.inputs if isinstance(given.get(e.name), Tensor)), None
        )
        if first is None:
            name = self.operator.inputs[0].name
            if name not in given:
                raise TypeError(f"{self.name}() needs the argument {name!r}")
            raise TypeError(f"{self.name}(): {name} must be a Tensor, not {type(given[name]).__name__}")
        self.place, self.dtype = first._place, first.dtype
        if self.dtype not in self.operator.dtypes:
            known = ", ".join(dtype.name for dtype in self.operator.dtypes)
            raise TypeError(
                f"{self.name}(): {self.dtype.name} is no element type of this operator, which takes {known}; .to() converts"
            )
        self.inputs = [self._input(each, given.get(each.name)) for each in self.operator.inputs]

    def _input(self, each: Operand, given: Any) -> Tensor | None:
        if isinstance(given, Tensor):
            self._check_tensor(each.name, given, self.dtype)
            return given
        if given is None and each.default is not None:
            return None
        if self.operator.schema.kind == "map" and isinstance(given, (int, float)):
            if isinstance(given, float) and not self.dtype.is_floating_point:
                raise TypeError(
                    f"{self.name}(): {each.name} is {given!r}, but the tensors are {self.dtype.name}; a whole number was expected"
                )
            return full([], given, dtype=self.dtype, device=self.place)
        if given is None:
            raise TypeError(f"{self.name}() needs the argument {each.name!r}")
        kinds = " or a number" if self.operator.schema.kind == "map" else ""
        kinds += " or None" if each.default is not None else ""
        raise TypeError(f"{self.name}(): {each.name} must be a Tensor{kinds}, not {type(given).__name__}")

    def _check_tensor(self, name: str, tensor: Tensor, dtype: _core.dtype) -> None:
        if tensor.dtype is not dtype:
            raise TypeError(
                f"{self.name}(): {name} is {tensor.dtype.name}, but {dtype.name} was expected; .to() converts"
            )
        if tensor._place is self.place:
            return
        here, there = self.place.device, tensor.device
        if here == there:
            raise ValueError(
                f"{self.name}(): {name} belongs to another Runtime of {here} than other tensors of the call; bring them together with "
                "copy_(), or use one Runtime"
            )
        raise ValueError(
            f"{self.name}(): {name} is on {there}, but other tensors of the call are on {here}; bring them together with .to()"
        )

    # ---- shapes

    def _shapes(self) -> list[Shape]:
        """Of the outputs."""
        kind = self.operator.schema.kind
        if kind == "map":
            return [self._broadcast_shape()]
        return self._row_shapes() if kind == "rows" else self._own_shapes()

    def _broadcast_shape(self) -> Shape:
        first = self.inputs[0]
        assert first is not None
        shape = first.shape
        for each, tensor in zip(self.operator.inputs[1:], self.inputs[1:], strict=True):
            assert tensor is not None
            other = tensor.shape
            if other == shape:
                continue
            count = max(len(shape), len(other))
            left, right = ([1] * (count - len(sizes)) + sizes for sizes in (shape, other))
            for dimension, (a, b) in enumerate(zip(left, right, strict=True)):
                if a != b and 1 not in (a, b):
                    raise ValueError(
                        f"{self.name}(): {each.name} has shape {other}: size {b} in dimension {dimension - count}, but other tensors of "
                        f"the call have {a} there; the same or 1 was expected"
                    )
            shape = [b if a == 1 else a for a, b in zip(left, right, strict=True)]
        return self._repeated_to_output(tuple(shape))

    def _repeated_to_output(self, shape: Shape) -> Shape:
        """An output that is given may be larger than what the inputs are broadcast to; one that does not fit is refused later."""
        out = self.outs[0]
        if not isinstance(out, Tensor) or len(out.shape) < len(shape):
            return shape
        wanted = tuple(out.shape)
        added = (1,) * (len(wanted) - len(shape)) + shape
        return wanted if all(a in (1, b) for a, b in zip(added, wanted, strict=True)) else shape

    def _row_shapes(self) -> list[Shape]:
        first, name = self.inputs[0], self.operator.inputs[0].name
        if first is None:
            raise TypeError(f"{self.name}(): {name} must be a Tensor, not None")
        shape = first.shape
        if not shape:
            raise ValueError(f"{self.name}(): {name} has no dimensions; rows are the last one")
        wanted = {"element": shape, "column": shape[-1:], "row": shape[:-1]}
        for each, tensor in zip(self.operator.inputs[1:], self.inputs[1:], strict=True):
            if tensor is not None and tensor.shape != wanted[each.place]:
                raise ValueError(
                    f"{self.name}(): {each.name} has shape {tensor.shape}, but {wanted[each.place]} was expected beside {name} of shape {shape}"
                )
        return [tuple(wanted[tensor.place]) for tensor in self.operator.schema.outputs]

    def _own_shapes(self) -> list[Shape]:
        given = [None if tensor is None else tuple(tensor.shape) for tensor in self.inputs]
        rule = self.operator.schema.shape
        assert rule is not None
        try:
            found = rule(*given)
        except ValueError as error:
            named = zip(self.operator.inputs, given, strict=True)
            said = ", ".join(f"{each.name} has shape {list(shape or ())}" for each, shape in named)
            raise ValueError(f"{self.name}(): {said}: {error}") from error
        shapes = [found] if len(self.operator.outputs) == 1 else list(found)
        return [tuple(int(size) for size in shape) for shape in shapes]

    # ---- tensors around the function

    def _find_outputs(self, shapes: list[Shape]) -> list[Tensor]:
        is_truth = self.operator.schema.dtype_rule == "truth"
        dtype = bool_dtype if is_truth else self.dtype
        found: list[Tensor] = []
        for number, (out, shape) in enumerate(zip(self.outs, shapes, strict=True)):
            if out is None:
                found.append(_core.empty(self.place, dtype, shape))
                continue
            name = self.operator.outputs[number] if number else "out"
            if not isinstance(out, Tensor):
                raise TypeError(f"{self.name}(): {name} must be a Tensor, not {type(out).__name__}")
            self._check_tensor(name, out, dtype)
            if tuple(out.shape) != shape:
                raise ValueError(
                    f"{self.name}(): {name} has shape {out.shape}, but {list(shape)} was expected"
                )
            if out.numel() and any(
                stride == 0 and size > 1 for stride, size in zip(out.stride(), out.shape, strict=True)
            ):
                raise ValueError(f"{self.name}(): {name} has stride 0, so that its elements share memory")
            found.append(out)
        return found

    def _ready(self, tensor: Tensor | None, shape: Shape) -> Tensor | None:
        """As the function may see it."""
        if tensor is None:
            return None
        if self.operator.schema.kind == "map" and tuple(tensor.shape) != shape:
            sizes, strides = broadcast(tensor.shape, tensor.stride(), list(shape))
            tensor = tensor._strided(sizes, strides, 0)
        return tensor if self.operator.takes_strides or tensor.is_contiguous() else tensor.contiguous()

    def _target(self, out: Tensor, inputs: list[Tensor | None]) -> Tensor:
        """The output itself, or memory of its own where kernels cannot write it, or would write what they have yet to read."""
        if all(given is None for given in self.outs):
            return out
        usable = self.operator.takes_strides or out.is_contiguous()
        if usable and not any(tensor is not None and self._is_overlapped(tensor, out) for tensor in inputs):
            return out
        return _core.empty(self.place, out.dtype, out.shape)

    def _is_overlapped(self, tensor: Tensor, out: Tensor) -> bool:
        if self.operator.schema.kind == "map" and tensor.data_ptr() == out.data_ptr():
            same = tensor.dtype is out.dtype and tensor.shape == out.shape and tensor.stride() == out.stride()
            if same:
                return False  # each element is read before it is written
        low, high = _extent(tensor)
        out_low, out_high = _extent(out)
        return low < out_high and out_low < high


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The addresses between which its elements lie."""
    low = high = tensor.data_ptr()
    if tensor.numel() == 0:
        return low, high
    item = tensor.dtype.itemsize
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        reach = (size - 1) * stride * item
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + item


def lie_apart(outs: Sequence[Tensor], inputs: Sequence[Tensor | None]) -> bool:
    """Whether no output is in a piece of memory that an input is in, as far as can be told at once."""
    for out in outs:
        begin, size = out._storage
        for tensor in inputs:
            if tensor is not None:
                other, other_size = tensor._storage
                if other < begin + size and begin < other + other_size:
                    return False
    return True


def number(operator: PythonOperator, attribute: Attribute, value: Any) -> Any:
    """An attribute's value as its type; without one the default."""
    called = f"{operator.__name__}()"
    if value is None:
        if attribute.default is None:
            raise TypeError(f"{called} needs the argument {attribute.name!r}")
        value = attribute.default
    if isinstance(value, Tensor) or not hasattr(value, "__float__"):
        raise TypeError(f"{called}: {attribute.name} must be a number, not {type(value).__name__}")
    if attribute.ctype in ("float", "double"):
        return float(value)
    if int(value) != value:
        raise ValueError(f"{called}: {attribute.name} is {value!r}; a whole number was expected")
    return bool(value) if attribute.ctype == "bool" else int(value)
