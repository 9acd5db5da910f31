"""Tests that ask for `device` run on the CPU and, where there is one, on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Iterator

import op_support
import pytest
from cuda_support import CudaText


@pytest.fixture(scope="session")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> CudaText:
    """What the library gives NVIDIA's compiler; it takes half a minute to build, so all tests share it."""
    return CudaText(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module", params=["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    with op_support.using(request.param):
        yield request.param
