"""Edge cases: what each call answers, as data. `python edge_cases.py` prints one JSON object, case -> answer.

The program runs unchanged on `cuda.bindings.runtime` (INFINIRT_FLAT_MODULE=cuda) and on `infinirt.runtime`. The answers of
a GPU are kept in edge_answers.json; test_edge_cases.py compares. An answer is an error code, or a list of codes and values.
Only what the real runtime survives can stand here: destroyed and invented handles crash it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent))

import edge_captures  # noqa: F401
import edge_graphs  # noqa: F401
import edge_objects  # noqa: F401
from edge_support import CASES


def main(wanted: list[str]) -> int:
    answers = {}
    for name, function in CASES.items():
        if not wanted or name in wanted:
            answers[name] = function()
    print(json.dumps(answers, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
