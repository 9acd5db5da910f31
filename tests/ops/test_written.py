"""Written operators against their references, over every element type and layout; and their CUDA text without a GPU."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from cuda_support import CudaText
from op_support import run

import infinirt
from infiniop.conformance.operands import Trial, wrong_elements
from infiniop.conformance.written_trials import cases, trial_of, turned, with_gaps, written_values
from infiniop.schema import OPERATORS, Operator
from infiniop.schema.emit.written import WITH_KERNELS

WRITTEN = [operator for operator in OPERATORS if operator.kind == "written"]
every_operator = pytest.mark.parametrize("operator", WRITTEN, ids=lambda operator: operator.name)


def try_out(operator: Operator, trial: Trial) -> None:
    """Runs it, and looks at every output and at what lies beside it."""
    before = {name: None if each is None else each.root.copy() for name, each in trial.operands.items()}
    arrays = {name: None if each is None else each.view for name, each in trial.operands.items()}
    run(operator, arrays, trial.dtypes, **trial.values)
    results = {operator.output.name: (trial.expected, trial.limit), **trial.further}
    for name, (expected, limit) in results.items():
        out = trial.operands[name]
        assert out is not None
        seen = Trial(trial.what, trial.operands, trial.dtypes, expected, limit)
        assert wrong_elements(seen, out, out.view.copy()) == "", f"{operator.name}.{name}, {trial.what}"
        if out.root.nbytes:
            out.view[...] = out.over(before[name].tobytes())
            assert out.root.tobytes() == before[name].tobytes(), f"beside {name}, {trial.what}"
    for tensor in operator.inputs:
        given = trial.operands[tensor.name]
        if given is not None:
            assert given.root.tobytes() == before[tensor.name].tobytes(), f"{tensor.name} was written"


@pytest.mark.usefixtures("device")
@every_operator
def test_every_type(operator: Operator) -> None:
    turns = max((len(tensor.dtypes) for tensor in operator.tensors), default=1) or 1
    for number, dtype in enumerate(operator.dtypes):
        for place, case in enumerate(cases(operator)):
            try_out(operator, trial_of(operator, dtype, case, f"trial {place}", number + place))
    for turn in range(turns):
        try_out(operator, trial_of(operator, operator.dtypes[-1], cases(operator)[0], f"turn {turn}", turn))


@pytest.mark.usefixtures("device")
@every_operator
def test_every_layout(operator: Operator) -> None:
    dtypes = [dtype for dtype in ("BF16", "F32", "U8") if dtype in operator.dtypes] or operator.dtypes[:1]
    for dtype in dtypes:
        for number, case in enumerate(cases(operator)):
            for place in (with_gaps, turned):
                what = f"trial {number}, {place.__name__}"
                try_out(operator, trial_of(operator, dtype, case, what, number, place))


compiled: set[tuple[str, ...]] = set()


@pytest.mark.full
@pytest.mark.peer("nvidia-cuda-nvrtc")
@pytest.mark.parametrize("operator", WITH_KERNELS, ids=lambda operator: operator.name)
def test_cuda_text_compiles(operator: Operator, cuda: CudaText, tmp_path: Path) -> None:
    texts = set()
    for trial in written_values(operator):
        tensors = {
            name: (trial.dtypes[name], each.view.shape, each.strides)
            for name, each in trial.operands.items()
            if each is not None
        }
        if all(each is None or each.view.size for each in trial.operands.values()):
            texts.add(cuda.describe_written(operator, tensors, **trial.values))
    assert texts
    # One of each text: a GPU compiles them all in its tests, and the narrow types, which come first, need most.
    program, variant = min(texts)
    kind = (program, *(line for line in variant.splitlines() if line.startswith("#define")))
    if kind in compiled:
        pytest.skip("another operator has the same text, and compiled it")
    compiled.add(kind)
    options = infinirt.ProgramOptions(
        name="written.cu",
        arch="sm_90",
        std=None,
        headers={**cuda.files, "variant.h": variant},
        extra=cuda.options,
    )
    log = io.StringIO()
    infinirt.Program(program, "c++", options).compile("cubin", logs=log)
    assert log.getvalue() == "", variant


def test_trials_have_elements() -> None:
    for operator in WRITTEN:
        first = next(iter(written_values(operator)))
        assert np.size(first.expected) > 0, operator.name
