"""Measures the plugin table in PaddlePaddle's own headers, for tests/plugins/measured_offsets.inc.

    python tools/measure_plugin_layouts.py V3_3=path/to/device_ext.h ...

The header is `paddle/include/paddle/phi/backends/device_ext.h` of a `paddlepaddle` wheel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADING = """// Where the entries of the plugin table are in PaddlePaddle's releases, as a compiler sees it in their own headers
// (2.6.2, 3.0.0, 3.1.1, 3.2.2, 3.3.1). Made by tools/measure_plugin_layouts.py.
"""


def entry_names(header: str) -> list[str]:
    """The members of C_DeviceInterface in the order in which they are declared, `size` excepted."""
    body = header[header.index("struct C_DeviceInterface {") :]
    body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body[: body.index("\n};")], flags=re.DOTALL)
    found = re.findall(r"C_Status\s*\(\*(\w+)\)|void\* (reserved_\w+)\[", body)
    return [entry or reserved for entry, reserved in found]


def measure(layout: str, header: Path) -> str:
    """The lines of one release."""
    prints = [
        f'std::printf("MEASURED({layout}, {name}, %zu)\\n", offsetof(C_DeviceInterface, {name}));'
        for name in entry_names(header.read_text(encoding="utf-8"))
    ]
    prints.append(
        f'std::printf("MEASURED_SIZES({layout}, %zu, %zu)\\n", sizeof(C_DeviceInterface), sizeof(CustomRuntimeParams));'
    )
    source = f'#include <cstdint>\n#include <cstdio>\n#include "{header.resolve()}"\nint main() {{ {" ".join(prints)} }}\n'
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "measure"
        subprocess.run(
            ["c++", "-std=c++17", "-w", "-x", "c++", "-", "-o", str(program)],
            input=source,
            text=True,
            check=True,
        )
        return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(HEADING)
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        sys.stdout.write(measure(name, Path(path)))
