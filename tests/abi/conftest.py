"""Where NVIDIA's 12.9 headers are."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

WHEEL_FOLDERS = ("cuda_runtime", "cuda_nvcc", "cuda_profiler_api")


@pytest.fixture(scope="session")
def cuda_includes() -> list[Path]:
    """Include directories: INFINIRT_CUDA12_INCLUDE (several, separated as in PATH), else those of the wheels.

    The marker `peer` has already skipped the test where neither is there.
    """
    if given := os.environ.get("INFINIRT_CUDA12_INCLUDE"):
        return [Path(part) for part in given.split(os.pathsep) if part]
    namespace = importlib.util.find_spec("nvidia")
    places = list(namespace.submodule_search_locations or ()) if namespace else []
    return [
        folder
        for place in places
        for name in WHEEL_FOLDERS
        if (folder := Path(place) / name / "include").is_dir()
    ]
