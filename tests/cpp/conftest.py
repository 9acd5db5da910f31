"""The C++ tests are built in the background, from the moment when it is known that some will run."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import Background, background

HERE = Path(__file__).parent


def variant_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("cpp_variant", "release") if callspec is not None else "release"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Variant after variant, in the order in which they are built."""
    order = ["release", *cpp_variants(config)]
    places = [index for index, item in enumerate(items) if item.path.parent == HERE]
    chosen = sorted((items[index] for index in places), key=lambda item: order.index(variant_of(item)))
    for index, item in zip(places, chosen, strict=True):
        items[index] = item


def cpp_variants(config: pytest.Config) -> list[str]:
    return [name for name in config.getoption("--cpp-variants").split(",") if name]


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    chosen = [item for item in session.items if item.path.parent == HERE]
    if not chosen or config.option.collectonly:
        return
    root = (config.rootpath / config.getoption("--cpp-build-root")).resolve()
    variants = dict.fromkeys(
        variant_of(item) for item in chosen
    )  # some tests name theirs themselves: the release
    config.stash[background] = Background(root, config.getoption("--cpp-release-tree"), list(variants))


def pytest_unconfigure(config: pytest.Config) -> None:
    if background in config.stash:
        config.stash[background].stop()
