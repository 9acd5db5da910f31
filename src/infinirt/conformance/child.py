"""The process in which cases run: `python -m infinirt.conformance.child`, started and ended by the runner.

Reads one JSON line with what to load, then ids of cases, one a line; answers each with a JSON line on the descriptor it was
given. Its standard output is standard error: what a backend prints must not look like an answer.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import time
import traceback
from typing import IO, Any


def load(what: dict[str, Any]) -> None:
    """Modules and plugins that bring the device type; both may be needed before its name means anything."""
    import infinirt

    for path in what["paths"]:
        sys.path.insert(0, path)
    for path in what["plugins"]:
        infinirt.load_plugin(path)
    backend = what["backend"]
    register_backends([importlib.import_module(name) for name in what["imports"]], backend)
    # For threads that choose no type, those of the cases included.
    os.environ["INFINIRT_DEVICE"] = backend


def register_backends(modules: list[Any], backend: str) -> None:
    """A module that defines the backend need not register it on import: its class is enough."""
    import infinirt

    if any(info.name == backend for info in infinirt.device_types()):
        return
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, infinirt.Backend) and value.type == backend:
                value().register()
                return


def describe(backend: str) -> dict[str, Any]:
    """The device type under test, for the report; ValueError with what there is instead."""
    import infinirt
    from infinirt import runtime

    types = {info.name: info for info in infinirt.device_types()}
    if backend not in types:
        refused = "; ".join(f"{p.path}: {p.problem}" for p in infinirt.plugins() if p.problem)
        raise ValueError(
            f"there is no device type {backend!r}; there are {', '.join(types)}"
            + (f" (plugins that were refused: {refused})" if refused else "")
        )
    info = types[backend]
    if info.count == 0:
        raise ValueError(f"the device type {backend!r} has no device: {info.problem or 'none was found'}")
    functions = sorted(
        name
        for name in dir(runtime)
        if name.startswith("infinirt")
        and not name.startswith("infinirtX")
        and callable(getattr(runtime, name))
        and not isinstance(getattr(runtime, name), type)
    )
    capabilities = {}
    for name in functions:
        try:
            capabilities[name] = infinirt.support(name, backend)
        except infinirt.InfiniRTError:
            continue  # a helper of the module, no function of the C API
    devices = [
        {
            "device": str(device),
            "name": device.name,
            "memory": device.memory_info()[1],
            "compute_capability": list(device.compute_capability),
            "multiprocessors": int(device.properties.multiprocessor_count),
        }
        for device in infinirt.devices(backend)
    ]
    first = infinirt.Device(f"{backend}:0")
    first.set_current()
    return {
        "type": backend,
        "origin": info.origin,
        "devices": devices,
        "runtime_version": int(runtime.infinirtRuntimeGetVersion()[1] or 0),
        "driver_version": int(runtime.infinirtDriverGetVersion()[1] or 0),
        "capabilities": capabilities,
    }


def run_case(case: Any, backend: str, ordinal: int) -> dict[str, Any]:
    """Runs one case and judges it."""
    import infinirt

    from .bench import Bench
    from .check import Failed, Finished, Inapplicable, Limit, rt

    support = {name: infinirt.support(name, backend) for name in case.functions}
    none = [name for name, how in support.items() if how == "none"]
    rt.called.clear()
    bench = Bench(backend, ordinal)
    result: dict[str, Any] = {"result": "pass"}
    began = time.monotonic()
    try:
        bench.begin()
        try:
            case.run(bench)
            bench.end(True)
        except Finished:
            bench.end(False)
        if none:
            raise Failed(
                f"{', '.join(none)} to answer infinirtErrorNotSupported, as the device type declares",
                "the case passes: the declaration is out of date",
            )
        if "emulated" in support.values():
            result = {
                "result": "emulated",
                "functions_emulated": [n for n in support if support[n] == "emulated"],
            }
    except Limit as limit:
        bench.end(False)
        result = {"result": "unsupported", "reason": str(limit)}
    except Inapplicable as reason:
        bench.end(False)
        result = {"result": "inapplicable", "reason": str(reason)}
    except Failed as failure:
        bench.end(False)
        result = {
            "result": "fail",
            "expected": failure.expected,
            "seen": failure.seen,
            "where": where(failure),
        }
    except infinirt.NotSupportedError as error:
        bench.end(False)
        if none:
            result = {"result": "unsupported", "reason": f"{', '.join(none)}: {error}"}
        else:
            result = unforeseen(error)
    except BaseException as error:
        bench.end(False)
        result = unforeseen(error)
    result["seconds"] = round(time.monotonic() - began, 6)
    result["called"] = sorted(rt.called)
    if bench.measurements:
        result["measurements"] = bench.measurements
    return result


def unforeseen(error: BaseException) -> dict[str, Any]:
    return {
        "result": "fail",
        "expected": "no exception",
        "seen": "".join(traceback.format_exception_only(error)).strip(),
        "stack": "".join(traceback.format_exception(error)),
    }


def where(error: BaseException) -> str:
    """The line of the case that noticed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "cases" in f.filename]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""


def main(answers: IO[str], stacks: IO[str]) -> int:
    faulthandler.enable(stacks, all_threads=True)
    what = json.loads(sys.stdin.readline())

    def answer(data: dict[str, Any]) -> None:
        answers.write(json.dumps(data) + "\n")
        answers.flush()

    try:
        load(what)
        from .case import all_cases
        from .check import rt

        cases = all_cases()
        backend = describe(what["backend"])
        if what["device"] >= len(backend["devices"]):
            raise ValueError(
                f"there is no device {what['device']}: {what['backend']} has {len(backend['devices'])}"
            )
        rt.unsupported = frozenset(n for n, how in backend["capabilities"].items() if how == "none")
    except Exception as error:
        answer(
            {
                "problem": f"{type(error).__name__}: {error}"
                if not isinstance(error, ValueError)
                else str(error)
            }
        )
        return 2
    answer({"ready": backend})
    for line in sys.stdin:
        case = cases[line.strip()]
        limit = what["limit"] * case.limit
        # Written by a thread that needs no interpreter: also where the case hangs with its lock held.
        faulthandler.dump_traceback_later(limit, file=stacks)
        result = run_case(case, what["backend"], what["device"])
        faulthandler.cancel_dump_traceback_later()
        answer(result)
    return 0


if __name__ == "__main__":
    answer_file, stack_file = (os.fdopen(int(number), "w") for number in sys.argv[1:3])
    os.dup2(2, 1)
    status = main(answer_file, stack_file)
    sys.exit(status)
