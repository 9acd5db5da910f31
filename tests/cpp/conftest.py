"""The C++ tests are built in the background, from the moment when it is known that some will run."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import Background, background

HERE = Path(__file__).parent


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    chosen = [item for item in session.items if item.path.parent == HERE]
    if not chosen or config.option.collectonly:
        return
    root = (config.rootpath / config.getoption("--cpp-build-root")).resolve()
    variants = [name for name in config.getoption("--cpp-variants").split(",") if name]
    # Some tests name their variant themselves: the release.
    config.stash[background] = Background(
        root, config.getoption("--cpp-release-tree"), list(dict.fromkeys([*variants, "release"]))
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    if background in config.stash:
        config.stash[background].stop()
