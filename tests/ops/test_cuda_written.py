"""Written operators' CUDA text on the host, thread by thread: what a GPU would compute, without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cuda_support import CudaText

from infiniop.conformance.operands import Trial, wrong_elements
from infiniop.conformance.written_trials import cases, trial_of, turned, with_gaps
from infiniop.schema import GROUPS, Operator
from infiniop.schema.emit.written import WITH_KERNELS

# Those whose text has nothing that only a GPU has.
NAMES = (
    "Order and choice",
    "All up to an element",
    "Experts of tokens",
    "Distances and determinants",
    "Sequences with a state",
)
ON_HOST = [operator for name in NAMES for operator in GROUPS[name] if operator in WITH_KERNELS]
TYPES = ("BF16", "U8")  # compiling is most of the time


def trials_of(operator: Operator) -> Iterator[Trial]:
    for dtype in [each for each in TYPES if each in operator.dtypes] or operator.dtypes[:1]:
        for number, case in enumerate(cases(operator)[:4]):
            yield trial_of(operator, dtype, case, f"trial {number}")
            if number == 0:
                yield trial_of(operator, dtype, case, f"trial {number}, with gaps", 0, with_gaps)
                yield trial_of(operator, dtype, case, f"trial {number}, turned", 0, turned)


@pytest.mark.full
@pytest.mark.parametrize("operator", ON_HOST, ids=lambda operator: operator.name)
def test_kernels_on_the_host(operator: Operator, cuda: CudaText) -> None:
    for trial in trials_of(operator):
        if any(each is not None and each.view.size == 0 for each in trial.operands.values()):
            continue
        arrays = {name: None if each is None else each.view for name, each in trial.operands.items()}
        cuda.run_written_on_host(operator, arrays, trial.dtypes, **trial.values)
        results = {operator.output.name: (trial.expected, trial.limit), **trial.further}
        for name, (expected, limit) in results.items():
            out = trial.operands[name]
            assert out is not None
            seen = Trial(trial.what, trial.operands, trial.dtypes, expected, limit)
            assert wrong_elements(seen, out, out.view.copy()) == "", f"{operator.name}.{name}, {trial.what}"
