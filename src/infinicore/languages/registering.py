"""`infinicore.operator()`: a function that launches kernels becomes an operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from infiniop.schema import Attribute, Operator
from infiniop.schema import Tensor as Operand
from infiniop.schema.model import EVERYTHING, Rows

from .. import _core
from .calling import Call, Plan, lie_apart, number

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .checking import Report

# The schema's names of element types, by infinicore's.
SCHEMA_NAMES = {
    "byte": "BYTE", "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float8": "F8", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}  # fmt: skip
NAMES = {schema: name for name, schema in SCHEMA_NAMES.items()}
_BY_NAME = {dtype.name: dtype for dtype in _core.dtypes}

MOST_PLANS = 1024  # that an operator keeps; shapes that change all the time are looked at all the time

Function = Callable[..., object]
_registered: dict[str, PythonOperator] = {}


def operator(
    *,
    tensors: Sequence[Operand],
    dtypes: Sequence[str | _core.dtype],
    reference: Callable[..., Any],
    attributes: Sequence[Attribute] = (),
    kind: str = "map",
    shape: Callable[..., Any] | None = None,
    examples: Sequence[Mapping[str, Sequence[int]]] = (),
    strides: bool = False,
    devices: Sequence[str] = ("cpu", "nvidia"),
    name: str = "",
    doc: str = "",
    **more: Any,
) -> Callable[[Function], PythonOperator]:
    """Registers an operator whose kernels are launched by the decorated function.

    The function gets the outputs, then the inputs, then the attributes by name, and launches kernels of Triton or NineToothed with them, on
    any device type of `devices`; `on()` of the result adds functions for others. It is called each time that there is something to write,
    when everything has been checked, and may call other operators and make tensors, too.

    What is said here is what the schema of built-in operators says (`infiniop.schema.Operator`, whose further fields, such as `ulps` and
    `domain`, may be given): `tensors` with their roles "out" and "in"; `dtypes`, of which all tensors of a call have one;
    `reference(numpy, *inputs, **attributes)`, in float64; and which shapes go together:

    - kind "map": inputs are broadcast, and the function sees them in the output's shape;
    - kind "rows": rows are the last dimension. A tensor's `place` says whether it has an element per "element", "column" (weights) or
      "row"; inputs with a `default` may be None;
    - kind "shaped": `shape(*shapes of the inputs)` gives the output's shape, or a tuple with one for each output, or raises ValueError;
      `examples` are shapes that check() takes, by the inputs' names.

    Tensors come contiguous, as copies where they are not, unless `strides` says that the kernels take any.
    """

    def register(function: Function) -> PythonOperator:
        called = name or getattr(function, "__name__", "")
        if not called.isidentifier():
            raise ValueError(f"{called!r} is no name for an operator; name= gives one")
        outputs = tuple((tensor.name, "") for tensor in tensors if tensor.role == "out")
        schema = Operator(
            called,
            doc or inspect.getdoc(function) or "",
            tuple(tensors),
            tuple(_schema_name(called, dtype) for dtype in dtypes),
            reference,
            kind=kind,  # type: ignore[arg-type]
            rows=Rows((), outputs) if kind == "rows" else None,
            attributes=tuple(attributes),
            shape=shape,
            examples=tuple({key: tuple(sizes) for key, sizes in example.items()} for example in examples),
            in_python=True,
            published=False,
            python=called,
            **more,
        )
        made = PythonOperator(schema, function, tuple(devices), strides)
        _registered[called] = made
        return made

    return register


def registered() -> dict[str, PythonOperator]:
    """The operators that were registered in this process, by name; of several with one name the last."""
    return dict(_registered)


def _schema_name(called: str, dtype: str | _core.dtype) -> str:
    name = dtype if isinstance(dtype, str) else dtype.name
    found = SCHEMA_NAMES.get(name, name)
    if found not in NAMES or found not in EVERYTHING:
        raise ValueError(f"{called}: {name!r} is no element type; there are {', '.join(NAMES)}")
    return found


class PythonOperator:
    """An operator whose kernels are written in Python: called with tensors, as infinicore's own operators are."""

    def __init__(self, schema: Operator, function: Function, devices: tuple[str, ...], strides: bool) -> None:
        self.schema = schema
        self.takes_strides = strides
        self._with_kernels: dict[str, Function] = {}
        self._plain: dict[str, Function] = {}
        self._plans: dict[bytes, Plan] = {}
        self.dtypes = tuple(_BY_NAME[NAMES[dtype]] for dtype in schema.dtypes)
        self.outputs = tuple(tensor.name for tensor in schema.outputs)
        self.inputs = schema.inputs
        self.attributes = schema.attributes
        self.parameters = (
            *(tensor.name for tensor in self.inputs), *(attribute.name for attribute in self.attributes)
        )  # fmt: skip
        self.__name__ = self.__qualname__ = schema.python_name
        self.__module__ = str(getattr(function, "__module__", __name__))
        self.__doc__ = f"{schema.doc}\n\nElement types: {', '.join(dtype.name for dtype in self.dtypes)}."
        self._check_function(function)
        self._check_reference(schema.reference)
        self.__signature__ = self._signature()
        self.__wrapped__ = function
        self._attributes = {each.name: each for each in schema.attributes}
        self._required = {each.name for each in schema.attributes if each.default is None}
        self._defaults = {
            name: None if name in self._required else number(self, each, None)
            for name, each in self._attributes.items()
        }
        for device in devices:
            self._with_kernels[device] = function

    def _signature(self) -> inspect.Signature:
        kinds = inspect.Parameter
        found: list[inspect.Parameter] = []
        # Behind what may be left out, what is needed is shown by name only; calls take it by position all the same.
        optional = False
        for name, default in (
            *((each.name, kinds.empty if each.default is None else None) for each in self.inputs),
            *((each.name, kinds.empty if each.default is None else each.default) for each in self.attributes),
        ):
            optional = optional or default is not kinds.empty
            by_name = optional and default is kinds.empty
            kind = kinds.KEYWORD_ONLY if by_name else kinds.POSITIONAL_OR_KEYWORD
            found.append(kinds(name, kind, default=default))
        found += (kinds(name, kinds.KEYWORD_ONLY, default=None) for name in ("out", *self.outputs[1:]))
        return inspect.Signature(sorted(found, key=lambda each: each.kind))

    def _check_function(self, function: Function) -> None:
        wanted = [*self.outputs, *self.parameters]
        if "out" in wanted[1:] or len(set(wanted)) != len(wanted):
            raise ValueError(
                f"{self.__name__}: {wanted} must have different names, and only the first may be 'out', which calls know it by"
            )
        found = list(inspect.signature(function).parameters)
        if found != wanted:
            raise ValueError(
                f"{self.__name__}: the function has the parameters {found}, but the outputs, inputs and attributes are {wanted}"
            )

    def _check_reference(self, reference: Callable[..., Any]) -> None:
        try:
            parameters = inspect.signature(reference)
        except (TypeError, ValueError):  # of some functions written in C
            return
        try:
            parameters.bind(None, *self.inputs, **dict.fromkeys(each.name for each in self.attributes))
        except TypeError as error:
            wanted = ", ".join(("numpy", *self.parameters))
            raise ValueError(
                f"{self.__name__}: reference{parameters} cannot be called as reference({wanted}), attributes by name: {error}"
            ) from None

    def on(self, *device_types: str) -> Callable[[Function], PythonOperator]:
        """Registers another function for device types, in place of what they had: one that calls operators, or enqueues work of its own
        on the tensors' stream. Kernels of Triton and NineToothed belong into the operator's first function."""

        def register(function: Function) -> PythonOperator:
            self._check_function(function)
            for device in device_types:
                self._plain[device] = function
            self._plans.clear()
            return self

        return register

    @property
    def devices(self) -> tuple[str, ...]:
        """The device types that there is a function for."""
        return tuple(sorted({*self._with_kernels, *self._plain}))

    def function_for(self, device: str) -> tuple[Function, bool]:
        """What is called on a device type, and whether it launches kernels."""
        plain = self._plain.get(device)
        if plain is not None:
            return plain, False
        found = self._with_kernels.get(device)
        if found is None:
            there = ", ".join(self.devices) or "none"
            raise NotImplementedError(
                f"{self.__name__}() has nothing for device type {device!r}, but for {there}; @{self.__name__}.on({device!r}) registers a "
                "function"
            )
        return found, True

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Tensor | tuple[Tensor, ...]:
        # The usual call, of tensors that were seen before: what was found out then holds. Everything else is looked at in full.
        count = len(self.inputs)
        values = self._values(args[count:], named)
        if len(args) < count or values is None:
            return Call(self, args, out, named).run()
        inputs = args[:count]
        outs = () if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if outs and (len(outs) != len(self.outputs) or any(each is None for each in outs)):
            return Call(self, args, out, named).run()
        seen = _core.signature(*inputs, *outs)
        plan = None if seen is None else self._plans.get(seen)
        if plan is None or inputs[0]._place.is_recording or not lie_apart(outs, inputs):
            return Call(self, args, out, named).run(seen)
        place: _core.Place = inputs[0]._place
        made = outs or [_core.empty(place, plan.dtype, shape) for shape in plan.shapes]
        plan.call(place, made, inputs, values)
        return made[0] if len(made) == 1 else tuple(made)

    def _values(self, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
        """The attributes; None where that is not all that was given, or not all that there is."""
        if not positional and not named:
            return None if self._required else self._defaults
        given = {**dict(zip(self._attributes, positional, strict=False)), **named}
        if (
            len(given) != len(positional) + len(named)
            or not self._required <= given.keys() <= self._defaults.keys()
        ):
            return None
        return {
            **self._defaults,
            **{name: number(self, self._attributes[name], given[name]) for name in given},
        }

    def keep(self, seen: bytes, plan: Plan) -> None:
        """For the next call with tensors of the same signature."""
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        self._plans[seen] = plan

    def check(self, device: Any = None) -> Report:
        """Compares it with its reference on a device, by default the thread's current one; see `infinicore.languages.check()`."""
        from .checking import check

        return check(self, device)

    def __repr__(self) -> str:
        return f"<PythonOperator {self.__name__}{self.__signature__} on {', '.join(self.devices)}>"
