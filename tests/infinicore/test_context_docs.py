"""Everything public of infinicore's runtime half is documented, and its examples are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import sys

import pytest

import infinicore

NAMES = "allocators context device device_event graph memory runtime _trace _snapshot".split()  # noqa: SIM905


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings(name: str) -> None:
    importlib.import_module(f"infinicore.{name}")
    result = doctest.testmod(sys.modules[f"infinicore.{name}"])  # `infinicore.device` itself is the class
    assert result.failed == 0


def test_every_public_name_is_documented() -> None:
    undocumented = []
    for name in NAMES:
        module = sys.modules[f"infinicore.{name}"]
        for public in module.__all__:
            thing = getattr(module, public)
            if public.endswith("Like"):
                continue
            if not inspect.getdoc(thing):
                undocumented.append(public)
            if not inspect.isclass(thing):
                continue
            for member, value in vars(thing).items():
                if member.startswith("_") or not (
                    callable(value) or isinstance(value, (property, classmethod))
                ):
                    continue
                if not inspect.getdoc(getattr(thing, member)):
                    undocumented.append(f"{public}.{member}")
    assert undocumented == []


def test_what_the_package_offers_is_there() -> None:
    assert len(set(infinicore.__all__)) == len(infinicore.__all__)
    assert [name for name in infinicore.__all__ if not hasattr(infinicore, name)] == []
    assert {"Runtime", "Context", "Memory", "device", "DeviceEvent", "set_device"} <= set(infinicore.__all__)
