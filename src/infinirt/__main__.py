"""`python -m infinirt`: where the parts of this installation lie, and otherwise the command line of `infinirt.tools`.

Build systems call the path flags, often, so those answer without loading the command line.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

# The flag, and the part's place in the directory that holds the compiled modules.
_PARTS = {
    "--include-dir": "include",
    "--lib-dir": "lib",
    "--cmake-dir": "lib/cmake/InfiniRT",
    "--pkgconfig-dir": "lib/pkgconfig",
    "--v0-root": "v0",
    "--paddle-plugin-dir": "paddle_plugin",
}


def installed_root() -> Path:
    """The directory that holds the extension module, and with it headers and libraries.

    It is not always the directory of this file: an editable install leaves the Python files in the checkout and puts
    everything that was built elsewhere.
    """
    spec = importlib.util.find_spec("infinirt._runtime")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).resolve().parent
    return Path(__file__).resolve().parent


def part_path(flag: str) -> Path:
    """The directory that `flag` asks for; SystemExit with a reason when this installation has none."""
    path = installed_root() / _PARTS[flag]
    if not path.is_dir():
        sys.exit(
            f"infinirt: {flag}: this installation has no {path}; "
            "install the package (pip install .) or stage it (cmake --install build --prefix stage)"
        )
    return path


def print_parts(arguments: list[str]) -> bool:
    """Whether these were path flags; then each has been answered with a line."""
    if not arguments or not all(argument in _PARTS for argument in arguments):
        return False
    for flag in arguments:
        print(part_path(flag))
    return True


def main(arguments: list[str] | None = None) -> int:
    """Answers path flags, one line each in the order given, or hands everything to the command line."""
    given = sys.argv[1:] if arguments is None else arguments
    if print_parts(given):
        return 0
    if importlib.util.find_spec("infinirt.tools") is None:
        print(f"usage: python -m infinirt [{' | '.join(_PARTS)}]", file=sys.stderr)
        return 2
    command_line = importlib.import_module("infinirt.tools.cli")
    return command_line.main() or 0


if __name__ == "__main__":
    sys.exit(main())
