"""Plugins: shared objects that bring a device type, found by a call, in INFINIRT_PLUGIN_PATH or in installed packages."""

from __future__ import annotations

import os
import threading

from . import _core
from ._arguments import expect

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["PluginInfo", "load_entry_points", "load_plugin", "plugins"]

ENTRY_POINTS = "infinirt.plugins"

_lock = threading.RLock()  # an entry point may import what asks for devices
_looked = False  # under the lock
_done = False
_unusable: list[PluginInfo] = []  # entry points that gave no path


class PluginInfo:
    """A plugin that was tried: `path`, and either its device `type` and `layout`, or the `problem` it was refused for."""

    __slots__ = ("layout", "path", "problem", "type")

    def __init__(self, path: str, type: str, layout: str, problem: str) -> None:
        self.path = path
        self.type = type
        self.layout = layout
        self.problem = problem

    def __repr__(self) -> str:
        return f"<PluginInfo {self.path}: {self.problem or self.type}>"


def load_plugin(
    path: str | os.PathLike[str],
    *,
    type: str | None = None,
    layout: str | None = None,
    thread_safe: bool = False,
) -> str:
    """Loads a plugin with PaddlePaddle's custom-runtime interface and returns the device type that it brings.

    `type` gives it another name here; `layout` is the PaddlePaddle release it was built for ("2.6" to "3.3"), needed only
    where that cannot be told; with `thread_safe` its functions may be called by several threads at a time.

    >>> import infinirt
    >>> try:
    ...     infinirt.load_plugin("nowhere.so")
    ... except infinirt.InfiniRTError as error:
    ...     print(error.name)
    infinirtErrorFileNotFound
    """
    for value, name in ((type, "type"), (layout, "layout")):
        if value is not None:
            expect(value, str, name)
    return _core.load_plugin(os.fspath(path), type, layout, thread_safe)


def plugins() -> tuple[PluginInfo, ...]:
    """Every plugin that was tried, also those that were refused, plugins of installed packages included.

    >>> import infinirt
    >>> [plugin for plugin in infinirt.plugins() if plugin.type == "cpu"]
    []
    """
    load_entry_points()
    return (*(PluginInfo(*row) for row in _core.plugins()), *_unusable)


def load_entry_points() -> bool:
    """Loads what installed packages announce in the group `infinirt.plugins`, once; whether that brought a device type.

    An entry point is a path, or a function that returns one. One that fails is listed by `plugins()`, with the reason.
    """
    global _done, _looked
    if _done:
        return False
    with _lock:
        if _looked:
            return False
        _looked = True
        from importlib.metadata import entry_points

        from .backend import load_entry_points as load_backends

        brought = [_load(entry) for entry in entry_points(group=ENTRY_POINTS)]
        brought.append(load_backends())
        _done = True
        return any(brought)


def _load(entry: EntryPoint) -> bool:
    try:
        value = entry.load()
        path = os.fspath(value() if callable(value) else value)
    except Exception as error:
        _unusable.append(PluginInfo(f"entry point {entry.name} = {entry.value}", "", "", f"{error!r}"))
        return False
    try:
        _core.load_plugin(path, None, None, False)
    except Exception as error:
        if path not in [row[0] for row in _core.plugins()]:
            _unusable.append(PluginInfo(path, "", "", str(error)))
        return False
    return True
