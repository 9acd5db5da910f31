"""The names that programs for `cuda.bindings` have after `cuda` was replaced by `infinirt`."""

from __future__ import annotations

import importlib

import infinirt.runtime


def test_every_form_of_import_is_the_same_module() -> None:
    from infinirt.bindings import runtime

    assert runtime is infinirt.runtime
    assert importlib.import_module("infinirt.bindings.runtime") is infinirt.runtime
    from infinirt.bindings.runtime import infinirtGetDeviceCount

    assert infinirtGetDeviceCount is infinirt.runtime.infinirtGetDeviceCount
    assert infinirt.runtime.__name__ == "infinirt.runtime"
