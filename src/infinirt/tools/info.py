"""`infinirt info`: what is here, and why something is not."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import infinirt
from infinirt.__main__ import installed_root

ENVIRONMENT = (
    "INFINIRT_DEVICE",
    "INFINIRT_VISIBLE_DEVICES",
    "INFINIRT_PLUGIN_PATH",
    "INFINIRT_PLUGIN_LAYOUT",
    "INFINIRT_CPU_DEVICES",
    "INFINIRT_CPU_SCHEDULE",
    "INFINIRT_CPU_MEMORY",
    "INFINIRT_CPU_MEMORY_LIMIT",
    "INFINIRT_CPU_THREADS",
    "INFINIRT_CPU_LINGER",
    "INFINIRT_LOG",
    "INFINIRT_STACKS",
    "INFINIRT_TRACE",
    "INFINIRT_TRACE_LIMIT",
    "INFINIRT_CUPTI_LIBRARY",
)


def collect() -> dict[str, Any]:
    """Everything `infinirt info` shows, as plain data."""
    try:
        default = str(infinirt.Device())
    except infinirt.InfiniRTError as error:
        default = f"none: {error}"
    return {
        "version": infinirt.__version__,
        "api": "CUDA Runtime API 12.9",
        "python": platform.python_version(),
        "installed": str(installed_root()),
        "default": default,
        "device_types": [
            {
                "type": entry.name,
                "origin": entry.origin,
                "problem": entry.problem,
                "devices": [describe(device) for device in infinirt.devices(entry.name)]
                if entry.count
                else [],
            }
            for entry in infinirt.device_types()
        ],
        "plugins": [
            {"path": plugin.path, "type": plugin.type, "layout": plugin.layout, "problem": plugin.problem}
            for plugin in infinirt.plugins()
        ],
        "other_owners": other_owners(),
        "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
    }


def other_owners() -> list[str]:
    """Distributions other than this project's that install a package named infinirt: the two overwrite each other."""
    from importlib.metadata import packages_distributions

    return sorted(set(packages_distributions().get("infinirt", [])) - {"infinirt"})


def describe(device: infinirt.Device) -> dict[str, Any]:
    device.set_current()  # an INFINIRT_DEVICE that names no device is what this command is asked about
    free, total = device.memory_info()
    return {
        "device": str(device),
        "name": device.name,
        "memory_free": free,
        "memory_total": total,
        "multiprocessors": device.properties.multiprocessor_count,
    }


def size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def not_found(entry: dict[str, Any]) -> bool:
    """Whether no library serves the device type: nothing to say about it on most machines."""
    return not entry["origin"] and not entry["devices"]


def run(as_json: bool, everything: bool = False) -> None:
    data = collect()
    if as_json:
        print(json.dumps(data, indent=2))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"InfiniRT {data['version']}  ({data['api']}, Python {data['python']})")
    console.print(f"installed in {data['installed']}\n", highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("device", "name", "memory free / total", "workers", ""):
        table.add_column(column)
    for entry in data["device_types"]:
        for device in entry["devices"]:
            table.add_row(
                device["device"],
                device["name"],
                f"{size(device['memory_free'])} / {size(device['memory_total'])}",
                str(device["multiprocessors"]),
                "default" if device["device"] == data["default"] else "",
            )
    console.print(table)
    if data["default"].startswith("none: "):
        console.print(f"default  [yellow]{escape(data['default'])}[/]", highlight=False)
    absent = [] if everything else [entry["type"] for entry in data["device_types"] if not_found(entry)]
    for entry in data["device_types"]:
        if entry["type"] in absent:
            continue
        status = f"[yellow]no device:[/] {escape(entry['problem'])}" if not entry["devices"] else "ok"
        origin = f" ({escape(entry['origin'])})" if entry["origin"] else ""
        console.print(f"backend  {entry['type']}{origin}: {status}", highlight=False)
        if entry["devices"] and entry["problem"]:
            console.print(f"         [yellow]note:[/] {escape(entry['problem'])}", highlight=False)
    if absent:
        console.print(
            f"looked for, not found: {', '.join(absent)} (infinirt info --all says where)", highlight=False
        )
    for plugin in data["plugins"]:
        if plugin["problem"]:
            console.print(
                f"plugin   {plugin['path']}: [yellow]refused:[/] {escape(plugin['problem'])}", highlight=False
            )
    for owner in data["other_owners"]:
        console.print(
            f"[yellow]warning[/]  the distribution {owner} also installs a package named infinirt; uninstall one of the two"
        )
    for name, value in data["environment"].items():
        console.print(f"set      {name}={value}", highlight=False)
