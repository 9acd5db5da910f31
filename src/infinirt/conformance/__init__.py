"""The conformance kit: does a device type keep the rules of a CUDA-shaped runtime? Behind `infinirt conformance`.

Cases are functions registered under an id (`case.py`, `cases/`); they run in a child process (`child.py`) that the runner
restarts after a crash, a hang or a failure (`runner.py`); `document.py` makes the published document of the results, which
`text.py` and `page.py` show. Nothing here is loaded by `import infinirt`.
"""

from __future__ import annotations

from .case import LEVELS, Case, Level, all_cases
from .runner import Options, run

__all__ = ["LEVELS", "Case", "Level", "Options", "all_cases", "run"]
