"""The operators' cases: for each operator of the schema its results, its layouts and its refusals; and the rules of all of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from infinirt.conformance.bench import D2H, H2D, Bench, download, peek, poke, upload
from infinirt.conformance.case import Register
from infinirt.conformance.cases.capture import begin, end
from infinirt.conformance.cases.graph import instantiate
from infinirt.conformance.cases.graph import run as launch
from infinirt.conformance.check import Failed, Inapplicable, ok, rt, same

from ..schema import OPERATORS, Operator
from ..schema.model import EVERYTHING
from . import calls
from .calls import Pointer, refused, succeeds

if TYPE_CHECKING:
    from .operands import Operand, Trial

case = Register("operator", "full")
# One that stands for all where a rule is about none in particular.
SUM = next(operator for operator in OPERATORS if operator.symbol == "+")
# Some device types compile an operator when it is first asked for: more time until that is a hang.
COMPILES = 5.0


def trials() -> Any:
    """The module that needs NumPy; whoever has a device but not that gets told."""
    try:
        from . import trials
    except ImportError as error:
        raise Inapplicable(
            f"results are compared with NumPy's, which cannot be imported ({error}): pip install numpy ml_dtypes"
        ) from None
    return trials


# ---- one call, from memory to memory


def create(
    t: Bench,
    operator: Operator,
    owner: Pointer,
    tensors: Mapping[str, Pointer | None],
    values: Mapping[str, Any],
) -> Pointer:
    made = Pointer()
    arguments = calls.create_arguments(operator, owner, made, tensors, values)
    succeeds(calls.create_name(operator), *arguments, may_be_absent=True)
    t.later(lambda: destroy(operator, made))
    return made


def destroy(operator: Operator, descriptor: Pointer) -> None:
    succeeds(f"infiniopDestroy{operator.name}Descriptor", descriptor)


def describe(
    t: Bench,
    operator: Operator,
    owner: Pointer,
    operands: Mapping[str, Operand | None],
    dtypes: Mapping[str, str],
    values: Mapping[str, Any],
) -> Pointer:
    """The operator's descriptor; those of the tensors are gone when it is used."""
    with ExitStack() as stack:
        tensors = {
            name: None
            if operand is None
            else stack.enter_context(calls.tensor(dtypes[name], operand.view.shape, operand.strides))
            for name, operand in operands.items()
        }
        return create(t, operator, owner, tensors, values)


def compute(
    t: Bench,
    operator: Operator,
    descriptor: Pointer,
    addresses: Mapping[str, int | None],
    stream: Any,
    values: Mapping[str, Any] | None = None,
    element: bytes = b"",
) -> None:
    size = calls.workspace_size(operator, descriptor)
    workspace = (t.memory(size) if size else None, size)
    arguments = calls.compute_arguments(
        operator, descriptor, workspace, addresses, values or {}, element, stream
    )
    succeeds(f"infiniop{operator.name}", *arguments)


def try_out(t: Bench, operator: Operator, owner: Pointer, stream: Any, trial: Trial) -> None:
    descriptor = describe(t, operator, owner, trial.operands, trial.dtypes, trial.values)
    memory: dict[int, int] = {}  # of roots, by their addresses on the host
    addresses: dict[str, int | None] = {}
    for name, operand in trial.operands.items():
        if operand is None:
            addresses[name] = None
            continue
        root = operand.root
        if id(root) not in memory:
            memory[id(root)] = t.memory(max(root.nbytes, 16))
            if root.nbytes:
                upload(memory[id(root)], root.tobytes())
        addresses[name] = memory[id(root)] + operand.offset
    compute(t, operator, descriptor, addresses, stream, trial.values, trial.element)
    ok(rt.StreamSynchronize(stream))
    look_at(operator, trial, operator.output.name, memory)
    for name, (expected, limit) in trial.further.items():
        look_at(operator, replace(trial, expected=expected, limit=limit), name, memory)


def look_at(operator: Operator, trial: Trial, name: str, memory: Mapping[int, int]) -> None:
    """The elements of one output, and what lies beside them."""
    out = trial.operands[name]
    if out is None or not out.root.nbytes:
        return
    seen = bytearray(download(memory[id(out.root)], out.root.nbytes))
    result = out.over(seen)
    wrong = trials().wrong_elements(trial, out, result.copy())
    if wrong:
        which = f"{operator.name} ({name})" if len(operator.outputs) > 1 else operator.name
        raise Failed(f"what NumPy gives for {which} of {trial.what}", wrong)
    result[...] = out.view
    same(bytes(seen), out.root.tobytes(), f"the memory beside the output of {operator.name}, {trial.what}")


def all_of(kind: str, operator: Operator, t: Bench) -> None:
    with calls.handle() as owner:
        stream = t.stream()
        for trial in getattr(trials(), kind)[operator.kind](operator):
            try_out(t, operator, owner, stream, trial)


# ---- what is refused

Description = tuple[str, tuple[int, ...], tuple[int, ...] | None]  # type, shape, strides


def first_trial(operator: Operator) -> Trial:
    return next(trials().VALUES["written"](operator))  # type: ignore[no-any-return]


def wrong_written(operator: Operator) -> list[tuple[str, str, dict[str, Description | None]]]:
    """The same for written operators: each tensor for itself."""
    assert operator.written is not None
    right = right_ones(operator)
    found: list[tuple[str, str, dict[str, Description | None]]] = []

    def add(what: str, status: str, **changed: Description | None) -> None:
        found.append((what, status, {**dict.fromkeys(t.name for t in operator.tensors), **right, **changed}))

    for tensor in operator.tensors:
        if not tensor.described or tensor.name not in right:
            continue
        dtype, shape, _ = right[tensor.name]
        known = tensor.dtypes or (dtype,)
        other = next(each for each in ("C64", "BOOL") if each not in known)
        add(f"{tensor.name} is {other}", "BAD_TENSOR_DTYPE", **{tensor.name: (other, shape, None)})
        if not {"...", "...?", "<", ">", "*"} & set(operator.written.shapes[tensor.name].split()):
            more = (*shape, 2)
            add(f"{tensor.name} has shape {more}", "BAD_TENSOR_SHAPE", **{tensor.name: (dtype, more, None)})
        if tensor.role != "in" and any(size > 1 for size in shape):
            add(
                f"{tensor.name} has stride 0",
                "BAD_TENSOR_STRIDES",
                **{tensor.name: (dtype, shape, (0,) * len(shape))},
            )
        if not tensor.optional:
            add(f"{tensor.name} is null", "NULL_POINTER", **{tensor.name: None})
    return found


def right_ones(operator: Operator) -> dict[str, Description]:
    """Descriptions that the operator takes."""
    if operator.written:
        trial = first_trial(operator)
        return {
            name: (trial.dtypes[name], operand.view.shape, None)
            for name, operand in trial.operands.items()
            if operand is not None
        }
    dtype = "F32" if "F32" in operator.dtypes else operator.dtypes[0]
    shape = (3, 3) if operator.kind == "gemm" else (2, 3)
    shapes = {"element": shape, "column": shape[-1:], "row": shape[:-1]}
    given: dict[str, Description] = {
        tensor.name: (dtype, shapes[tensor.place], None) for tensor in operator.tensors
    }
    for name in operator.truths:
        given[name] = ("BOOL", *given[name][1:])
    if operator.halves:
        given[operator.inputs[0].name] = (dtype, (2, 6), None)
    if operator.dtype_rule == "truth":
        given[operator.output.name] = ("U8", *given[operator.output.name][1:])
    return given


def wrong_ones(operator: Operator) -> list[tuple[str, str, dict[str, Description | None]]]:
    """What is wrong, the status it has to give, and the descriptions; None is a null descriptor."""
    if operator.written:
        return wrong_written(operator)
    right = right_ones(operator)
    out, inputs = operator.output.name, [tensor.name for tensor in operator.inputs]
    found: list[tuple[str, str, dict[str, Description | None]]] = []

    def add(what: str, status: str, **changed: Description | None) -> None:
        found.append((what, status, {**right, **changed}))

    unknown = [dtype for dtype in EVERYTHING if dtype not in operator.dtypes]
    if unknown:
        changed = {name: (unknown[0], *right[name][1:]) for name in inputs or [out]}
        changed |= {name: right[name] for name in operator.truths}
        add(f"{unknown[0]} is no type of {operator.name}", "BAD_TENSOR_DTYPE", **changed)
    for name in operator.truths:
        add(f"{name} cannot be F32", "BAD_TENSOR_DTYPE", **{name: ("F32", *right[name][1:])})
    if operator.dtype_rule != "same":
        add(f"{out} cannot be C64", "BAD_TENSOR_DTYPE", **{out: ("C64", *right[out][1:])})
    elif len({*inputs, out}) > 1:
        other = next(dtype for dtype in operator.dtypes if dtype != right[out][0])
        add(f"{out} has another type", "BAD_TENSOR_DTYPE", **{out: (other, *right[out][1:])})
    for name in inputs:
        if name != out:
            dtype, shape, _ = right[name]
            wider = tuple(size + 1 for size in shape) if operator.rows else (*shape[:-1], shape[-1] + 1)
            add(f"{name} has shape {wider}", "BAD_TENSOR_SHAPE", **{name: (dtype, wider, None)})
    dtype, shape, _ = right[out]
    add(f"{out} has stride 0", "BAD_TENSOR_STRIDES", **{out: (dtype, shape, (0, 1)[: len(shape)])})
    may_be_null = inputs[-1:] if operator.scalar_expression else []
    may_be_null += [
        tensor.name for tensor in operator.tensors if tensor.optional or tensor.default is not None
    ]
    for name in {*inputs, out} - set(may_be_null):
        add(f"{name} is null", "NULL_POINTER", **{name: None})
    return found


def refusals(operator: Operator, t: Bench) -> None:
    values: dict[str, Any] = {attribute.name: 1 for attribute in operator.attributes}
    if operator.rows:
        values["dims"] = (1,)
    if operator.written:
        values = first_trial(operator).values
    function = f"infiniop{operator.name}"
    with calls.handle() as owner:
        for what, status, given in wrong_ones(operator):
            with ExitStack() as stack:
                tensors = {
                    name: None if each is None else stack.enter_context(calls.tensor(*each))
                    for name, each in given.items()
                }
                arguments = calls.create_arguments(operator, owner, Pointer(), tensors, values)
                refused(status, what, calls.create_name(operator), *arguments)
        with ExitStack() as stack:
            tensors = dict.fromkeys((tensor.name for tensor in operator.tensors), None) | {
                name: stack.enter_context(calls.tensor(*each)) for name, each in right_ones(operator).items()
            }
            descriptor = Pointer()
            arguments = calls.create_arguments(operator, owner, descriptor, tensors, values)
            nobody = [None, *arguments[1:]]
            refused("NULL_POINTER", "the handle is null", calls.create_name(operator), *nobody)
            succeeds(calls.create_name(operator), *arguments, may_be_absent=True)
    size = calls.workspace_size(operator, descriptor)
    workspace = (t.memory(size) if size else None, size)
    addresses = dict.fromkeys((tensor.name for tensor in operator.tensors), None)
    arguments = calls.compute_arguments(operator, descriptor, workspace, addresses, values, bytes(16), 0)
    refused("NULL_POINTER", "the tensors' addresses are null", function, *arguments)
    destroy(operator, descriptor)
    refused("BAD_PARAM", "the descriptor was destroyed", function, *arguments)
    refused("BAD_PARAM", "it was destroyed before", f"infiniopDestroy{operator.name}Descriptor", descriptor)


# ---- the rules of all of them


class Sums:
    """The sum of two pieces of memory of 64 floats each, ready to be enqueued."""

    def __init__(self, t: Bench, owner: Pointer) -> None:
        self.t = t
        names = [SUM.output.name, *(tensor.name for tensor in SUM.inputs)]
        with ExitStack() as stack:
            one = stack.enter_context(calls.tensor("F32", (64,)))
            self.descriptor = create(t, SUM, owner, dict.fromkeys(names, one), {})
        self.memory = {name: t.memory(256, fill=0) for name in names}
        self.out, self.first, self.second = (self.memory[name] for name in names)

    def enqueue(self, stream: Any) -> None:
        compute(self.t, SUM, self.descriptor, self.memory, stream)


def floats(value: float) -> bytes:
    return bytes((ctypes.c_float * 64)(*[value] * 64))


@case(
    "operator.order",
    about="LaunchKernel MemcpyAsync",
    rule="infiniop.h: compute is asynchronous, as a kernel launch is",
)
def order(t: Bench) -> None:
    """An operator is enqueued while its stream is held, and runs between the copies before and after it."""
    with calls.handle() as owner:
        sums, stream = Sums(t, owner), t.stream()
        before, after = t.pinned(256), t.pinned(256)
        poke(before, floats(3.0))
        upload(sums.second, floats(4.0))
        gate = t.gate(stream)
        gate.wait_until_entered()
        ok(rt.MemcpyAsync(sums.first, before, 256, H2D, stream))
        sums.enqueue(stream)
        ok(rt.MemcpyAsync(after, sums.out, 256, D2H, stream))
        ok(rt.MemsetAsync(sums.out, 0, 256, stream))
        seen = peek(after, 256)
        gate.open()
        ok(rt.StreamSynchronize(stream))
        same(seen, bytes(256), "what was copied while the stream was held")
        same(peek(after, 256), floats(7.0), "the sum that the copy after it took")


@case(
    "operator.capture",
    about="LaunchKernel StreamBeginCapture GraphLaunch",
    rule="infiniop.h: compute can be captured into a graph",
)
def capture(t: Bench) -> None:
    """A captured operator runs when the graph is launched, each time, on what its memory then holds."""
    with calls.handle() as owner:
        sums, stream = Sums(t, owner), t.stream()
        begin(stream)
        sums.enqueue(stream)
        graph = end(t, stream)
        same(download(sums.out, 256), bytes(256), "the output before the launch")
        executable = instantiate(t, graph)
        for value in (1.0, 2.5):
            upload(sums.first, floats(value))
            launch(executable, stream)
            same(download(sums.out, 256), floats(value), f"the output of the launch with {value}")


@case(
    "operator.threads",
    about="LaunchKernel",
    rule="infiniop.h: a descriptor may be used by several threads",
)
def threads(t: Bench) -> None:
    """Threads compute with one descriptor at once, each on a stream of its own."""
    with calls.handle() as owner:
        sums = Sums(t, owner)
        upload(sums.first, floats(1.0))
        work = [(t.memory(256, fill=0), t.memory(256), t.stream()) for _ in range(4)]
        names = [tensor.name for tensor in SUM.inputs]

        def repeat(mine: int, out: int, stream: Any) -> None:
            for _ in range(25):  # there and back: 50 in all
                for source, target in ((mine, out), (out, mine)):
                    addresses = {names[0]: sums.first, names[1]: source, SUM.output.name: target}
                    compute(t, SUM, sums.descriptor, addresses, stream)
            ok(rt.StreamSynchronize(stream))

        running = [t.thread(partial(repeat, *each)) for each in work]
        for each in running:
            each.result()
        for mine, _, _ in work:
            same(download(mine, 256), floats(50.0), "the sum after 50 calls")


@case(
    "operator.handle.destroyed",
    about="LaunchKernel",
    rule="infiniop.h: the handle may go before a descriptor, and what was destroyed is INFINI_STATUS_BAD_PARAM",
)
def destroyed(t: Bench) -> None:
    """A descriptor works when its handle is gone; the handle itself is refused, and destroying it again as well."""
    with calls.handle() as owner, calls.tensor("F32", (64,)) as one:
        sums, stream = Sums(t, owner), t.stream()
        succeeds("infiniopDestroyHandle", owner)
        upload(sums.first, floats(2.0))
        sums.enqueue(stream)
        ok(rt.StreamSynchronize(stream))
        same(download(sums.out, 256), floats(2.0), "the sum")
        given = dict.fromkeys((tensor.name for tensor in SUM.tensors), one)
        arguments = calls.create_arguments(SUM, owner, Pointer(), given, {})
        refused("BAD_PARAM", "the handle was destroyed", calls.create_name(SUM), *arguments)
        refused("BAD_PARAM", "it was destroyed before", "infiniopDestroyHandle", owner)


def register() -> None:
    kinds: tuple[tuple[str, Callable[[Operator, Bench], None], str], ...] = (
        (
            "values",
            partial(all_of, "VALUES"),
            "{0} gives what NumPy gives in float64: several types, ordinary and special values.",
        ),
        (
            "layouts",
            partial(all_of, "LAYOUTS"),
            "Whatever the shapes and strides of its operands, {0} gives the right elements and writes nothing beside them.",
        ),
        (
            "refusals",
            refusals,
            "{0} refuses wrong types, shapes, strides and descriptors with the right status and a sentence.",
        ),
    )
    for operator in OPERATORS:
        word = operator.python_name.replace("_", "-")
        for kind, function, sentence in kinds:
            case.add(
                f"operator.{word}.{kind}",
                partial(function, operator),
                sentence.format(operator.name),
                "LaunchKernel",
                f"contract of infiniop{operator.name} (infiniop/ops/{operator.file}.h)",
                limit=COMPILES,
            )


register()
